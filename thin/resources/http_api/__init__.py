"""Resources of type http_api: HTTP endpoints with JSON, which their manager queries.

Declared in pillar, each by its id; settings that apply to all are next to ``resource_ids``:

.. code-block:: yaml

    resources:
      http_api:
        timeout: 10
        resource_ids:
          crm:
            url: https://crm.example.org/api/v2
            token: a-secret                     # sent as "Authorization: Bearer a-secret"
            headers: {X-Tenant: acme}
            ping: /health                       # the path that test.ping requests; default: the URL itself
            grains: /about                      # the path of an object with grains; default: only the grain url
            ca_bundle: /etc/ssl/crm.pem
          wiki: https://wiki.example.org/api    # only a URL

Token and headers are only sent to this server. They are not logged, and not sent to another server after a redirect.
"""

from thin.exceptions import CommandExecutionError
from thin.utils.files import serial

OPTIONS = ("url", "token", "headers", "ping", "grains", "timeout", "ca_bundle", "verify_ssl")
#: The seconds to wait for the server, and the maximum bytes of an answer.
TIMEOUT = 30
LARGEST = 16 * 1024 * 1024
#: Characters that are not encoded in a path.
PLAIN = "/:@!$&'()*+,;=-._~%?"


def init(opts):
    """Parse the declaration; for an invalid endpoint, each request raises the reason."""
    key = opts.get("resource_pillar_key") or "resources"
    declared = dict(opts["pillar"].get(key, {}).get("http_api") or {})
    endpoints = declared.pop("resource_ids", None) or {}
    if not isinstance(endpoints, dict):
        raise CommandExecutionError("`resource_ids` is a mapping of ids to URLs, or to mappings with `url`")
    __context__["http_api"] = {}
    for id, endpoint in endpoints.items():
        try:
            __context__["http_api"][id] = _endpoint(declared, endpoint)
        except CommandExecutionError as exc:
            __context__["http_api"][id] = exc


def initialized():
    """Whether ``init`` was called."""
    return "http_api" in __context__


def discover(opts):
    """The declared ids. No server is queried: an endpoint that is down is still a resource."""
    return list(__context__["http_api"])


def grains():
    """The URL, and the response at the path that ``grains`` of the declaration names."""
    endpoint = _current()
    grains = {"url": endpoint["url"]}
    if endpoint.get("grains"):
        answered = query(endpoint["grains"])["data"]
        if not isinstance(answered, dict):
            raise CommandExecutionError("GET %s gives no JSON object" % endpoint["grains"])
        grains.update(answered)
    return grains


def grains_refresh():
    """The grains; they are not cached."""
    return grains()


def ping():
    """Whether the server responds without an error."""
    return "error" not in query(_current().get("ping") or "", raise_error=False)


def shutdown(opts):
    """Discard the secrets."""
    __context__.pop("http_api", None)


def query(path="", method="GET", data=None, params=None, raise_error=True):
    """``{"status": number, "data": parsed JSON, or text}``; with ``error`` if ``raise_error`` is False and it
    failed."""
    try:
        import urllib.error
        import urllib.parse
        import urllib.request
    except ImportError:
        raise CommandExecutionError("Python here has no urllib.request (Debian's python3-minimal): install python3")
    endpoint, method = _current(), str(method).upper()
    url = endpoint["url"] + ("/" + urllib.parse.quote(str(path).lstrip("/"), safe=PLAIN) if path else "")
    if params:
        url += ("&" if "?" in url else "?") + urllib.parse.urlencode(params)
    body = None if data is None else serial.dumps(data).encode("utf-8")
    request = urllib.request.Request(url, data=body, method=method)  # noqa: S310 - init has checked the scheme
    for name, value in endpoint["headers"].items():
        request.add_unredirected_header(name, value)
    if body is not None:
        request.add_unredirected_header("Content-Type", "application/json")
    try:
        with _opener(endpoint, urllib.request).open(request, timeout=endpoint["timeout"]) as answer:
            status, wrong, text = answer.status, None, _read(answer)
    except urllib.error.HTTPError as exc:
        with exc:
            status, wrong, text = exc.code, "%d %s" % (exc.code, exc.reason), exc.read(LARGEST)
    except Exception as exc:  # a server may send anything, and each module has its own exceptions for that
        status, wrong, text = 0, str(getattr(exc, "reason", None) or exc or type(exc).__name__), b""
    response = {"status": status, "data": _meant(text)}
    if wrong is not None:
        response["error"] = "%s %s: %s" % (method, url.partition("?")[0], wrong)
        if raise_error:
            raise CommandExecutionError(response["error"])
    return response


def _current():
    endpoint = __context__["http_api"].get(__resource__["id"])
    if endpoint is None:
        raise CommandExecutionError("no endpoint of this name is declared any more")
    if isinstance(endpoint, Exception):
        raise endpoint
    return endpoint


def _endpoint(common, declared):
    """The settings of one endpoint, with all headers; its own settings override the common ones."""
    own = {"url": declared} if isinstance(declared, str) else declared
    if not isinstance(own, dict):
        raise CommandExecutionError("an endpoint is a URL, or a mapping with `url`")
    endpoint = dict(common, **own)
    unknown = [name for name in endpoint if name not in OPTIONS]
    if unknown:
        raise CommandExecutionError("there is no option %s, only: %s" % (unknown[0], ", ".join(OPTIONS)))
    url = endpoint.get("url")
    host = url.partition("://")[2].partition("/")[0] if isinstance(url, str) else ""
    if not host or "@" in host or not url.startswith(("http://", "https://")) or not _sound(url):
        raise CommandExecutionError("`url` is no URL of http or https without user and password")
    headers = dict(common.get("headers") or {}, **(own.get("headers") or {}))
    headers.setdefault("Accept", "application/json")
    if endpoint.get("token"):
        headers["Authorization"] = "Bearer %s" % endpoint["token"]
    headers = {str(name): str(value) for name, value in headers.items()}
    for name, value in headers.items():
        if not _sound(name + value):
            raise CommandExecutionError("the header %r has a character that is for none" % name)
    try:
        timeout = float(endpoint.get("timeout") or TIMEOUT)
    except (TypeError, ValueError):
        raise CommandExecutionError("`timeout` is a number of seconds")
    endpoint.pop("token", None)
    return dict(endpoint, url=url.rstrip("/"), headers=headers, timeout=timeout)


def _sound(text):
    return all(32 < ord(char) < 127 or char == " " for char in text)


def _opener(endpoint, web):
    """An opener that follows no redirect to another server."""
    import ssl

    class SameServer(web.HTTPRedirectHandler):
        def redirect_request(self, request, answer, code, text, headers, url):
            if url.split("/")[:3] != endpoint["url"].split("/")[:3]:
                return None  # the redirect is then an error with its status
            again = web.HTTPRedirectHandler.redirect_request(self, request, answer, code, text, headers, url)
            if again is not None:
                for header in endpoint["headers"].items():
                    again.add_unredirected_header(*header)
            return again

    context = ssl.create_default_context(cafile=endpoint.get("ca_bundle"))
    if endpoint.get("verify_ssl") is False:
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return web.build_opener(SameServer, web.HTTPSHandler(context=context))


def _read(answer):
    data = answer.read(LARGEST + 1)
    if len(data) > LARGEST:
        raise ValueError("the answer is longer than %d bytes" % LARGEST)
    return data


def _meant(data):
    text = data.decode("utf-8", "replace")
    try:
        return serial.loads(text) if text else None
    except ValueError:
        return text
