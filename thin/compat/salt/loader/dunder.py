"""The dunders as names to import. Salt: ``salt/loader/dunder.py``."""

from thin import compat

_found = compat.loaders()
__file_client__ = None
__opts__ = _found.opts if _found else {}
__grains__ = _found.grains if _found else {}
__pillar__ = _found.pillar if _found else {}
__context__ = _found.context if _found else {}
__salt__ = _found.modules if _found else {}
__states__ = _found.states if _found else {}
__utils__ = _found.utils if _found else {}
