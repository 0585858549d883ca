"""Sessions of targets with homes of their own."""

from tests.beds.sessions import home, kept, open_session, runtime, thin_root

__all__ = ["home", "kept", "open_session", "runtime", "thin_root"]
