"""Data of the firmware about the machine, from dmidecode. Salt: modules/smbios.py"""

import re

from thin import process

__reads__ = ("get", "records")

_HANDLE = re.compile(r"(?im)^handle (0x[0-9a-f]+), dmi type (\d+)[^\n]*\n")


def __virtual__():
    if process.which("dmidecode") or process.which("smbios"):
        return True
    return False, "The smbios execution module failed to load: neither dmidecode nor smbios in the path."


def get(string, clean=True):
    """
    Return one of the strings of dmidecode -s, or None

    string
        Such as system-serial-number
    clean
        None for a value that is obviously a placeholder

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' smbios.get bios-version clean=False
    """
    lines = [line for line in _dmidecode("-s", string).strip().splitlines() if not line.startswith("#")]
    value = "\n".join(lines)
    return None if value.startswith("/dev/mem") or (clean and not _filled(string, value)) else value


def records(rec_type=None, fields=None, clean=True):
    """
    Return all records: ``[{handle, description, type, data: {...}}]``

    rec_type
        Only of a type, a number or a word such as bios, system, chassis, memory
    fields
        Only these fields
    clean
        Leave out values that are obviously placeholders

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' smbios.records clean=False
        pushsalt run '*' smbios.records 17 size,speed,locator
    """
    parts = _HANDLE.split(_dmidecode(*(["-t", str(rec_type)] if rec_type is not None else [])))[1:]
    records = []
    for handle, number, text in zip(parts[::3], parts[1::3], parts[2::3]):
        lines = text.split("\n")
        record = {"handle": handle, "description": lines[0].strip(), "type": int(number)}
        data = _fields(lines[1:], clean, fields)
        if data:
            record["data"] = data
        if data or not clean:
            records.append(record)
    return records


def _dmidecode(*args):
    program = process.which("dmidecode") or process.which("smbios")
    return __salt__["cmd.run_stdout"]([program] + list(args), python_shell=False, output_loglevel="quiet")


def _fields(lines, clean, wanted):
    fields, key = {}, None
    for line in lines:
        deep = line.startswith("\t\t")
        if line.startswith("\t") and not deep and ":" in line:
            name, _, text = line.strip().partition(":")
            key = name.strip().lower().replace(" ", "_")
            if (clean and key == "header_and_data") or (wanted and key not in wanted):
                key = None
                continue
            value = _value(key, text.strip(), clean)
            if value is not None:
                fields[key] = value
        elif deep and key is not None:
            value = _value(key, line.strip(), clean)
            if value is not None:
                if not isinstance(fields.get(key), _List):
                    fields[key] = _List([fields[key]] if fields.get(key) is not None else [])
                fields[key].append(value)
    return {key: list(value) if isinstance(value, _List) else value for key, value in fields.items()}


class _List(list):
    """The values below a key; this class distinguishes them from a value that is a list itself."""


def _value(key, text, clean):
    if clean and not _filled(key, text):
        return None
    if re.match("(?i)serial|part|asset|product", key):
        return text
    if "," in text:
        return [each.strip() for each in text.split(",")]
    return int(text) if re.match(r"-?\d+$", text) else text


def _filled(key, text):
    """Whether a value is more than a placeholder of the vendor."""
    if not text or re.match("(?i)none", text):
        return False
    if "uuid" in key:
        return re.match("[0-9a-f]{32}$", re.sub("urn:|uuid:|[-{}]", "", text.lower())) is not None
    if re.search("serial|part|version", key):
        return not re.match(r"0+$|0?1234567[8]?[9]?[0]?", text) and not re.search(
            "(?i)sernum|part[_-]?number|specified|filled|applicable", text
        )
    if re.search("asset|manufacturer", key):
        return not re.search("(?i)manufacturer|to be filled|available|asset|^no(ne|t)", text)
    return not re.search(
        "(?i)to be filled|un(known|specified)|no(t|ne)? (asset|provided|defined|available|present|specified)", text
    )
