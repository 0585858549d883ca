"""The rack of a machine, as the file ``/etc/rack`` names it: ``rack``, and ``row``, the letters that it begins with."""


def rack():
    try:
        with open("/etc/rack") as file:
            name = file.read().strip()
    except OSError:
        name = "a1"
    return {"rack": name, "row": name.rstrip("0123456789")}
