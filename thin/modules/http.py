"""HTTP requests. Salt: ``salt/modules/http.py`` and ``salt/utils/http.py``; only the backend urllib exists."""

import os
import time

from thin.exceptions import CommandExecutionError
from thin.log import getLogger
from thin.utils.files import safepath, serial

__reads_unless__ = {
    "query": {"method": ("GET", "get", "HEAD", "head"), "text_out": (), "headers_out": (), "decode_out": ()},
    "wait_for_successful_query": {
        "method": ("GET", "get", "HEAD", "head"),
        "text_out": (),
        "headers_out": (),
        "decode_out": (),
    },
}

log = getLogger(__name__)

AGENT = "pushsalt"
DECODERS = ("json", "plain", "xml", "yaml")


def query(
    url,
    method="GET",
    params=None,
    data=None,
    data_file=None,
    header_dict=None,
    header_list=None,
    header_file=None,
    username=None,
    password=None,
    auth=None,
    decode=False,
    decode_type="auto",
    status=False,
    headers=False,
    text=False,
    cert=None,
    ca_bundle=None,
    verify_ssl=None,
    text_out=None,
    headers_out=None,
    decode_out=None,
    agent=AGENT,
    raise_error=True,
    decode_body=True,
    timeout=None,
    test=False,
    test_url=None,
    **kwargs,
):
    """
    Send a request to a web server: ``{"body": text}``, with ``status``, ``headers``, ``text`` and ``dict`` (decoded) if
    wanted

    A failure is returned as ``error``, with the ``status`` and ``body`` of the response if there was one.
    ``decode_type`` is json, yaml, xml, plain, or auto: by the response's content type. ``test`` sends the request
    to ``test_url``, or none.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' http.query https://example.org/status decode=true
    """
    if test:
        if not test_url:
            return {}
        url = test_url
    answer = {"test": True} if test else {}
    got = _ask(
        url,
        method,
        params,
        _body(data, data_file),
        _headers(header_dict, header_list, header_file, agent),
        auth or (username, password),
        verify_ssl,
        ca_bundle,
        cert,
        timeout,
    )
    body = got.body.decode("utf-8", "replace") if decode_body else got.body
    if got.error and (raise_error or got.status is None):
        answer["error"] = got.error
        if got.status is None:
            answer.update({"status": 0} if status else {})
        else:
            answer.update(status=got.status, body=body)
        return answer
    answer["body"] = body
    _keep(text_out, body)
    _keep(headers_out, "".join("%s: %s\n" % item for item in got.headers.items()))
    if status:
        answer["status"] = got.status
    if headers:
        answer["headers"] = got.headers
    if decode:
        kind = _kind(got.headers) if decode_type == "auto" else decode_type
        if kind not in DECODERS:
            answer["error"] = "Invalid decode_type specified. Valid decode types are: %s" % ", ".join(DECODERS)
            log.error("%s", answer["error"])
            return answer
        if kind == "plain":
            text = True
        else:
            answer["dict"] = _decoded(body, kind)
        _keep(decode_out, body)
    if text:
        answer["text"] = body
    return answer


def wait_for_successful_query(url, wait_for=300, **kwargs):
    """
    Repeat a query until it succeeds, for at most ``wait_for`` seconds; returns the last response

    ``request_interval``: seconds between two requests.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' http.wait_for_successful_query https://web01.example.org/health wait_for=90 request_interval=3
    """
    interval = kwargs.pop("request_interval", 1)
    end = time.monotonic() + wait_for
    while True:
        answer = query(url, **kwargs)
        if "error" not in answer or time.monotonic() + interval > end:
            return answer
        log.debug("%s", answer["error"])
        time.sleep(interval)


class _Got(object):
    """A response. ``status`` is None without one; ``error`` has the error text, or is empty."""

    def __init__(self, status, headers, body, error=""):
        self.status, self.headers, self.body, self.error = status, headers, body, error


def _ask(url, method, params, body, headers, login, verify_ssl, ca_bundle, cert, timeout):
    try:
        import urllib.error
        import urllib.parse
        import urllib.request
    except ImportError:
        raise CommandExecutionError(
            "Python on this machine has no urllib.request (Debian's python3-minimal): install python3"
        )
    if not url.lower().startswith(("http://", "https://")):
        return _Got(None, {}, b"", "unsupported URL: %s" % url)
    if params:
        words = params if isinstance(params, str) else urllib.parse.urlencode(params)
        url += ("&" if "?" in url else "?") + words
    opener = urllib.request.build_opener(urllib.request.HTTPSHandler(context=_context(verify_ssl, ca_bundle, cert)))
    timeout = timeout or __opts__.get("http_request_timeout") or 3600
    try:
        request = urllib.request.Request(url, data=body, headers=headers, method=method.upper())  # noqa: S310
        if login and login[0] is not None:
            import base64

            token = base64.b64encode(("%s:%s" % (login[0], login[1] or "")).encode("utf-8")).decode("ascii")
            request.add_unredirected_header("Authorization", "Basic " + token)  # valid for this server only
        with opener.open(request, timeout=timeout) as answer:
            return _Got(answer.status, dict(answer.headers.items()), answer.read())
    except urllib.error.HTTPError as exc:
        with exc:
            return _Got(exc.code, dict(exc.headers.items()), exc.read(), "HTTP %d: %s" % (exc.code, exc.reason))
    except (OSError, ValueError) as exc:
        return _Got(None, {}, b"", str(getattr(exc, "reason", None) or exc))


def _context(verify_ssl, ca_bundle, cert):
    import ssl

    context = ssl.create_default_context(cafile=ca_bundle or __opts__.get("ca_bundle"))
    if not (__opts__.get("verify_ssl", True) if verify_ssl is None else verify_ssl):
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    if cert:
        context.load_cert_chain(*(cert if isinstance(cert, (list, tuple)) else [cert]))
    return context


def _body(data, data_file):
    if data_file:
        data = _read(data_file)
    if isinstance(data, (dict, list)):
        from urllib.parse import urlencode

        data = urlencode(data)
    return data if data is None or isinstance(data, bytes) else str(data).encode("utf-8")


def _headers(header_dict, header_list, header_file, agent):
    headers = {str(name): str(value) for name, value in (header_dict or {}).items()}
    lines = list(header_list or ()) + (_read(header_file).decode("utf-8").splitlines() if header_file else [])
    for line in lines:
        name, colon, value = line.partition(":")
        if colon:
            headers[name.strip()] = value.strip()
    headers.setdefault("User-Agent", agent)
    return headers


def _read(source):
    path = __salt__["cp.cache_file"](source) if "://" in source else source
    if not path or not os.path.isfile(path):
        raise CommandExecutionError("File %s not found" % source)
    with open(path, "rb") as handle:
        return handle.read()


def _keep(path, text):
    if path:
        from thin.utils.files import atomic

        atomic.write(safepath.real(path), text if isinstance(text, bytes) else text.encode("utf-8", "replace"))


def _kind(headers):
    content_type = next(
        (value for name, value in headers.items() if name.lower() == "content-type"), "application/json"
    )
    return next((kind for kind in ("xml", "json", "yaml") if kind in content_type), "plain")


def _decoded(body, kind):
    if kind == "json":
        return serial.loads(body if isinstance(body, str) else body.decode("utf-8"))
    if kind == "yaml":
        return __salt__["slsutil.deserialize"]("yaml", body)
    try:
        import xml.etree.ElementTree
    except ImportError:
        raise CommandExecutionError("Python on this machine reads no XML (Debian's python3-minimal): install python3")
    return [_element(child) for child in xml.etree.ElementTree.fromstring(body)]  # noqa: S314


def _element(node):
    """An XML element in Salt's shape: ``{tag: text}`` without children, else its children by tag.

    The values of a repeated tag are a list: the first in the form of a single one, the others as elements.
    """
    if not len(node):
        return {_tag(node): node.text}
    result, again = {}, set()
    for child in node:
        name = _tag(child)
        if name not in result:
            result[name] = _element(child) if len(child) else child.text
            continue
        if name not in again:
            again.add(name)
            result[name] = [result[name]]
        result[name].append(_element(child))
    return result


def _tag(node):
    return node.tag.rpartition("}")[2]
