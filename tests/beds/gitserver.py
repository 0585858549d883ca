"""Git repositories made from a few texts, and servers for them on loopback: smart HTTP(S) with a password, a proxy, and
faulty servers. tests.beds.sshd has ssh.
"""

from __future__ import annotations

import base64
import contextlib
import http.server
import os
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

GIT_ENV = {
    "PATH": os.environ["PATH"],
    "HOME": "/nonexistent",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "LC_ALL": "C",
}


def git(*arguments: str, stdin: bytes = b"", check: bool = True) -> str:
    done = subprocess.run(["git", *arguments], input=stdin, env=GIT_ENV, capture_output=True, check=False)
    assert not check or done.returncode == 0, (arguments, done.stderr.decode())
    return done.stdout.decode("utf-8", "surrogateescape").strip()


class Repo:
    """A bare repository. ``commit`` adds one commit to a branch, which begins at the default one's tip."""

    def __init__(
        self, path: Path, files: Mapping[str, Any] | None = None, branch: str = "master", hashes: str = "sha1"
    ) -> None:
        self.path = path
        git("init", "--quiet", "--bare", f"--initial-branch={branch}", f"--object-format={hashes}", str(path))
        for key in ("uploadpack.allowFilter", "uploadpack.allowAnySHA1InWant"):
            self.git("config", key, "true")
        if files is not None:
            self.commit(files, branch)

    @property
    def url(self) -> str:
        return f"file://{self.path}"

    def git(self, *arguments: str, stdin: bytes = b"", check: bool = True) -> str:
        return git(f"--git-dir={self.path}", *arguments, stdin=stdin, check=check)

    def commit(
        self, files: Mapping[str, Any], branch: str = "master", *, fresh: bool = False, message: str = "change"
    ) -> str:
        """Add a commit and return its id. A file is a text, bytes, a pair (mode, text) such as ``("120000",
        "target")``, or None, which removes it.

        ``fresh``: a root commit, as after a force-push.
        """
        ref = f"refs/heads/{branch}"
        tip = self.git("rev-parse", "--verify", "--quiet", ref, check=False)
        tip = tip or self.git("rev-parse", "--verify", "--quiet", "HEAD", check=False)
        stream = [b"feature done\n"]
        if fresh:
            stream.append(f"reset {ref}\n\n".encode())
        text = message.encode()
        stream.append(f"commit {ref}\ncommitter T <t@example.org> {1700000000 + self._count()} +0000\n".encode())
        stream.append(b"data %d\n%s\n" % (len(text), text))
        if tip and not fresh:
            stream.append(f"from {tip}\n".encode())
        for path, content in files.items():
            mode = "100644"
            if isinstance(content, tuple):
                mode, content = content
            if content is None:
                stream.append(f"D {path}\n".encode())
            elif mode == "160000":
                stream.append(f"M 160000 {content} {path}\n".encode())
            else:
                data = content.encode() if isinstance(content, str) else content
                stream.append(b"M %s inline %s\ndata %d\n%s\n" % (mode.encode(), path.encode(), len(data), data))
        stream.append(b"\ndone\n")
        self.git("fast-import", "--quiet", "--force", stdin=b"".join(stream))
        return self.tip(ref)

    def _count(self) -> int:
        return len(self.git("rev-list", "--all").splitlines())

    def tip(self, ref: str = "master") -> str:
        return self.git("rev-parse", f"{ref}^{{commit}}")

    def tag(self, name: str, ref: str = "master", *, annotated: bool = False) -> None:
        who = ("-c", "user.name=T", "-c", "user.email=t@example.org")
        self.git(*who, "tag", *(("-a", "-m", name) if annotated else ()), name, ref)


class Http:
    """``git http-backend`` behind the server of the standard library.

    ``requests`` are the requested paths. ``trouble`` replaces the answer: silent, 500, drip, garbage, or a URL that the
    server redirects to.
    """

    def __init__(self, root: Path, *, login: tuple[str, str] | None = None, tls: Path | None = None) -> None:
        self.root, self.login, self.trouble = root, login, ""
        self.requests: list[str] = []
        self.logins: list[str] = []
        self._stop = threading.Event()
        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self.scheme = "https" if tls else "http"
        if tls:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(tls)
            self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self.port = self._server.server_address[1]

    @property
    def url(self) -> str:
        return f"{self.scheme}://127.0.0.1:{self.port}"

    def __enter__(self) -> Http:
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._stop.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def _handler(bed) -> type[http.server.BaseHTTPRequestHandler]:
        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.0"

            def log_message(self, *args: object) -> None:
                pass

            def do_GET(self) -> None:
                bed.requests.append(self.path)
                with contextlib.suppress(OSError):
                    bed._answer(self)

            do_POST = do_GET
            do_CONNECT = do_GET

        return Handler

    def _answer(self, request: Any) -> None:
        if self.trouble == "silent":
            self._stop.wait(30)
            return
        if self.trouble == "drip":
            request.send_response(200)
            request.send_header("Content-Type", "application/x-git-upload-pack-advertisement")
            request.end_headers()
            while not self._stop.wait(0.1):
                request.wfile.write(b"0")
                request.wfile.flush()
            return
        if self.trouble == "500":
            request.send_error(500)
            return
        if self.trouble == "garbage":
            request.send_response(200)
            request.end_headers()
            request.wfile.write(os.urandom(4096))
            return
        if self.trouble:
            request.send_response(302)
            request.send_header("Location", self.trouble + request.path)
            request.end_headers()
            return
        if self.login:
            given = request.headers.get("Authorization", "")
            self.logins.append(given)
            if given != "Basic " + base64.b64encode(":".join(self.login).encode()).decode():
                request.send_response(401)
                request.send_header("WWW-Authenticate", 'Basic realm="git"')
                request.send_header("Content-Length", "0")
                request.end_headers()
                return
        self._backend(request)

    def _backend(self, request: Any) -> None:
        path, _, query = request.path.partition("?")
        path = path[path.index("/", 8) :] if path.startswith("http://") else path  # a request to a proxy
        body = request.rfile.read(int(request.headers.get("Content-Length") or 0))
        env = {
            **GIT_ENV,
            "GIT_PROJECT_ROOT": str(self.root),
            "GIT_HTTP_EXPORT_ALL": "1",
            "PATH_INFO": path,
            "QUERY_STRING": query,
            "REQUEST_METHOD": request.command,
            "CONTENT_TYPE": request.headers.get("Content-Type", ""),
            "HTTP_CONTENT_ENCODING": request.headers.get("Content-Encoding", ""),
            "HTTP_GIT_PROTOCOL": request.headers.get("Git-Protocol", ""),
            "REMOTE_ADDR": "127.0.0.1",
        }
        done = subprocess.run(["git", "http-backend"], input=body, env=env, capture_output=True, check=False)
        head, _, data = done.stdout.partition(b"\r\n\r\n")
        lines = [line.split(": ", 1) for line in head.decode().split("\r\n") if ": " in line]
        status = next((value for key, value in lines if key == "Status"), "200 OK")
        request.send_response(int(status.split()[0]))
        for key, value in [*lines, ["Content-Length", str(len(data))]]:
            if key != "Status":
                request.send_header(key, value)
        request.end_headers()
        request.wfile.write(data)


def certificate(path: Path) -> Path:
    """A self-signed certificate for 127.0.0.1 with its key, in one file."""
    import datetime
    import ipaddress

    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import NameOID

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.datetime.now(datetime.timezone.utc)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=30))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), True)
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    path.write_bytes(private + made.public_bytes(serialization.Encoding.PEM))
    return path


@contextlib.contextmanager
def silent_port() -> Iterator[int]:
    """A port that accepts connections and sends nothing."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def wait_for(condition: Any, seconds: float = 10.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "the condition was not met in time"
        time.sleep(0.01)
