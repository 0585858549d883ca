"""Salt: ``salt/utils/locales.py``."""

import sys


def get_encodings():
    return [sys.getdefaultencoding(), "utf-8", "latin-1"]


def split_locale(loc):
    """The parts of a locale's name: language, territory, codeset, charmap, modifier."""
    rest, _, charmap = loc.strip().partition(" ")
    rest, _, modifier = rest.partition("@")
    rest, _, codeset = rest.partition(".")
    language, _, territory = rest.partition("_")
    return {"language": language, "territory": territory, "codeset": codeset, "charmap": charmap, "modifier": modifier}


def join_locale(comps):
    loc = comps["language"]
    for key, mark in (("territory", "_"), ("codeset", "."), ("modifier", "@"), ("charmap", " ")):
        loc += mark + comps[key] if comps.get(key) else ""
    return loc


def normalize_locale(loc):
    comps = split_locale(loc)
    comps["territory"], comps["codeset"] = comps["territory"].upper(), comps["codeset"].lower().replace("-", "")
    return join_locale(dict(comps, charmap=""))
