"""Sessions of local targets, each with a separate home."""

from tests.beds.sessions import home, kept, open_session, runtime, thin_root

__all__ = ["home", "kept", "open_session", "runtime", "thin_root"]
