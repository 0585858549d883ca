"""The version of Salt that the helpers correspond to. Salt: ``salt/version.py``."""

__version__ = "3008.0"
__version_info__ = __saltstack_version_info__ = (3008, 0)


class SaltStackVersion(object):
    """A version that can be compared with others, texts and tuples."""

    def __init__(self, major, minor=None, *rest):
        self.major, self.minor = int(major), minor

    @classmethod
    def from_name(cls, name):
        names = {
            "boron": 2016,
            "carbon": 2016,
            "nitrogen": 2017,
            "oxygen": 2018,
            "fluorine": 2019,
            "neon": 3000,
            "sodium": 3001,
            "magnesium": 3002,
            "aluminium": 3003,
            "silicon": 3004,
            "phosphorus": 3005,
            "sulfur": 3006,
            "chlorine": 3007,
            "argon": 3008,
        }
        return cls(names[str(name).lower()])

    @classmethod
    def parse(cls, text):
        parts = str(text).lstrip("v").split(".")
        return cls(parts[0], int(parts[1]) if len(parts) > 1 and parts[1].isdigit() else None)

    @property
    def info(self):
        return (self.major,) if self.minor is None else (self.major, self.minor)

    @property
    def string(self):
        return ".".join(str(part) for part in self.info)

    def _pair(self, other):
        if isinstance(other, str):
            other = self.parse(other)
        other = other.info if isinstance(other, SaltStackVersion) else tuple(other)
        return self.info + (0,) * (2 - len(self.info)), other + (0,) * (2 - len(other))

    def __eq__(self, other):
        mine, theirs = self._pair(other)
        return mine == theirs

    def __lt__(self, other):
        mine, theirs = self._pair(other)
        return mine < theirs

    def __le__(self, other):
        return self == other or self < other

    def __gt__(self, other):
        return not self <= other

    def __ge__(self, other):
        return not self < other

    def __hash__(self):
        return hash(self.info)

    def __str__(self):
        return self.string


__saltstack_version__ = SaltStackVersion(3008, 0)
