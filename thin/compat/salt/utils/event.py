"""Events. There is no event bus: fired events are sent by ``event.send`` if it exists, and stored with the run. Salt:
``salt/utils/event.py``."""

from thin import compat


class SaltEvent(object):
    def __init__(self, *args, **kwargs):
        pass

    def fire_event(self, data, tag, timeout=1000):
        return self.fire_master(data, tag)

    def fire_master(self, data, tag, timeout=1000):
        loaders = compat.loaders()
        send = loaders.modules.get("event.send") if loaders is not None else None
        return bool(send(tag, data)) if send is not None else False

    def get_event(self, *args, **kwargs):
        return None

    def destroy(self):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *args):
        self.destroy()


MinionEvent = MasterEvent = SaltEvent


def get_event(*args, **kwargs):
    return SaltEvent()


get_master_event = get_event


def tagify(suffix="", prefix="", base="salt"):
    parts = [base, prefix] if prefix else [base]
    parts += list(suffix) if isinstance(suffix, (list, tuple)) else [suffix]
    return "/".join(str(part) for part in parts if part)
