"""Names that have other modules in Python 3."""

import builtins
import configparser
import queue
import shlex
from functools import reduce
from io import StringIO
from itertools import filterfalse, zip_longest
from urllib.parse import urlparse as _urlparse

input, range, map, filter, zip = builtins.input, builtins.range, builtins.map, builtins.filter, builtins.zip
xrange, cStringIO, shlex_quote, urlparse = builtins.range, StringIO, shlex.quote, _urlparse


__all__ = [
    "StringIO",
    "builtins",
    "cStringIO",
    "configparser",
    "filter",
    "filterfalse",
    "input",
    "map",
    "queue",
    "range",
    "reduce",
    "shlex_quote",
    "urlparse",
    "xrange",
    "zip",
    "zip_longest",
]
