"""Downloads with curl(1) or GNU wget(1), if Python lacks ``http`` as Debian's python3-minimal does.

The URL, which may contain a password, is passed on stdin, because all users can read command lines.
"""

import os
import subprocess

from thin.exceptions import CommandExecutionError


class NoTool(CommandExecutionError):
    """Nothing on this machine can download; an earlier state may install a program that can."""

    may_come = True


def open_url(url, verify_ssl, head, timeout):
    """Start a download. Returns an Answer: ``read``, ``close``, and a context manager. An error of the program is
    raised as OSError at the end of the body. ``head``: only check that it exists.

    Raises NoTool if there is neither program, ValueError for a URL with white space.
    """
    from thin import process

    if any(ord(char) < 33 for char in url):
        raise ValueError("a URL has no white space")
    curl = process.which("curl")
    if curl:
        # -q: no curlrc; -g: brackets are no ranges
        argv = [
            curl,
            "-q",
            "-g",
            "-sS",
            "-f",
            "-L",
            "--proto-redir",
            "=http,https,ftp",
            "-K",
            "-",
            "--connect-timeout",
            str(timeout),
            "--speed-limit",
            "1",
            "--speed-time",
            str(timeout),
        ]
        argv += [] if verify_ssl else ["-k"]
        argv += ["-I", "-o", os.devnull] if head else []
        return Answer(argv, 'url = "%s"\n' % url.replace("\\", "\\\\").replace('"', '\\"'))
    wget = process.which("wget")
    if wget:
        # After a redirect without a length, wget may use a connection again that the server is about to close.
        argv = [wget, "--no-config", "-nv", "--tries=1", "--no-http-keep-alive", "--timeout=%d" % timeout, "-i", "-"]
        argv += [] if verify_ssl else ["--no-check-certificate"]
        argv += ["--spider"] if head else ["-O", "-"]
        return Answer(argv, url + "\n")
    raise NoTool(
        "Cannot download: Python on this machine has no urllib.request (Debian's python3-minimal), and there is "
        "neither curl nor wget; install one of the packages python3, curl and wget"
    )


class Answer(object):
    """The output of a program. The end of the output is only reported if the program succeeded."""

    def __init__(self, argv, words):
        self._process = subprocess.Popen(
            argv,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=dict(os.environ, LC_ALL="C"),
        )
        try:
            self._process.stdin.write(words.encode("utf-8"))
            self._process.stdin.close()
        except BrokenPipeError:
            pass  # it ended already; its stderr says why

    def read(self, size):
        piece = self._process.stdout.read(size)
        if not piece:
            output = self._process.stderr.read().decode("utf-8", "replace").strip().split("\n")
            if self._process.wait():
                raise OSError(output[-1] or "exit code %d" % self._process.returncode)
        return piece

    def close(self):
        """End the program, even if it is still running."""
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        self._process.stdout.close()
        self._process.stderr.close()

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.close()
