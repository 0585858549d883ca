"""Entry point of the ``pushsalt`` command."""

from __future__ import annotations

import sys

# typing is not imported: a command that a broker runs needs no more than this module and its client
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

    from pushsalt.cli.stdio import Terminal


def main(argv: list[str] | None = None) -> None:
    """Run one command line and exit with its code. Never shows a traceback (``-l debug`` logs it)."""
    from pushsalt.cli import stdio

    words = sys.argv[1:] if argv is None else argv
    stdio.open_missing()
    if argv is None:
        from pushsalt.broker.client import answered as by_broker

        code = by_broker(words)
        if code is not None:
            leave(code)
    options = words[: words.index("--") if "--" in words else None]
    stdio.no_color = "--no-color" in options or "--no-colour" in options
    stdout = stdio.Stdout()
    if words == ["--version"]:  # the fast path, without other imports
        from pushsalt import __version__

        stdout.write(f"pushsalt {__version__}\n")
        sys.exit(stdio.final_code(0, stdout))
    if "jobs" in words and "list" in words:
        from pushsalt.cli.quick import answered

        if answered(words, stdout):
            sys.exit(stdio.final_code(0, stdout))
    try:
        from pushsalt import log

        collect_rarely()
        terminal = stdio.Terminal(log.install(), stdout)
        code = _run(words, terminal)
    except KeyboardInterrupt:  # outside of a job
        code = 130
    code = stdio.final_code(code, stdout)
    if code > 128:  # the interpreter would wait for threads of a stopped job
        import os

        os._exit(code)
    sys.exit(code)


def leave(code: int) -> NoReturn:
    """End the process without the steps by which Python ends, which take some milliseconds; there is no data left."""
    import os

    sys.stderr.flush()
    os._exit(code)


def collect_rarely() -> None:
    """Run the garbage collector less often: with many targets most data stays in use, and collections would take half
    the time.

    Python also collects several times before it exits, except for frozen objects.
    """
    import atexit
    import gc

    gc.set_threshold(50_000, 20, 100)
    atexit.register(gc.freeze)


def _run(words: list[str], terminal: Terminal) -> int:
    # asyncssh does without: OpenSSH has no such keys, and cryptography.x509 would take a tenth of a command's start
    sys.modules.setdefault("asyncssh.crypto.x509", None)  # type: ignore[arg-type]
    from pushsalt.cli.app import command
    from pushsalt.cli.stdio import TERMINAL
    from pushsalt.errors import PushsaltError

    TERMINAL.set(terminal)
    try:
        return int(command().main(words, prog_name="pushsalt", standalone_mode=False) or 0)
    except PushsaltError as exc:
        from pushsalt.cli.usage import explain

        return explain(exc, terminal.log)
    except Exception as exc:
        from pushsalt.cli.usage import explain_defect, explain_usage

        return (explain_usage if hasattr(exc, "format_message") else explain_defect)(exc, terminal.log)


if __name__ == "__main__":
    main()
