"""HTTP requests with Python's standard library. Salt: ``salt/utils/http.py``."""

from thin.log import getLogger

log = getLogger(__name__)


def query(
    url,
    method="GET",
    params=None,
    data=None,
    data_file=None,
    header_dict=None,
    header_list=None,
    username=None,
    password=None,
    auth=None,
    decode=False,
    decode_type="auto",
    status=False,
    headers=False,
    text=False,
    cookies=None,
    timeout=None,
    verify_ssl=True,
    ca_bundle=None,
    raise_error=True,
    opts=None,
    formdata=False,
    handle=False,
    stream=False,
    **kwargs,
):
    """Salt's result: a dict with ``body`` or ``dict``, ``status``, ``headers``, ``text`` as requested, or ``error``."""
    import ssl
    import urllib.error
    import urllib.parse
    import urllib.request

    if params:
        url += ("&" if "?" in url else "?") + urllib.parse.urlencode(params)
    if data_file:
        with open(data_file, "rb") as source:
            data = source.read()
    if isinstance(data, dict):
        data = urllib.parse.urlencode(data)
    request = urllib.request.Request(  # noqa: S310
        url, data.encode("utf-8") if isinstance(data, str) else data, dict(header_dict or {}), method=method
    )
    for line in header_list or ():
        key, _, value = line.partition(":")
        request.add_header(key.strip(), value.strip())
    if auth and username is None:
        username, password = auth[:2]
    if username is not None:
        import base64

        login = base64.b64encode(("%s:%s" % (username, password or "")).encode("utf-8")).decode("ascii")
        request.add_header("Authorization", "Basic " + login)
    context = ssl.create_default_context(cafile=ca_bundle)
    if verify_ssl is False:
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    try:
        try:
            answer = urllib.request.urlopen(request, timeout=timeout or 3600, context=context)  # noqa: S310
        except urllib.error.HTTPError as exc:
            if raise_error:
                return {"error": str(exc), "status": exc.code, "body": exc.read().decode("utf-8", "replace")}
            answer = exc
        if handle or stream:
            return {"handle": answer}
        with answer:
            body, code, answer_headers = answer.read(), answer.getcode(), answer.headers
    except (OSError, ValueError) as exc:
        log.debug("%s %s failed: %s", method, url.partition("?")[0], exc)
        return {"error": str(getattr(exc, "reason", exc))}
    ret = {"body": body.decode(answer_headers.get_content_charset() or "utf-8", "replace")}
    if status is True:
        ret["status"] = code
    if headers is True:
        ret["headers"] = dict(answer_headers.items())
    if text is True:
        ret["text"] = ret["body"]
    if decode is True:
        ret.update(_decoded(ret.pop("body"), decode_type, answer_headers.get_content_type()))
    return ret


def _decoded(text, kind, content_type):
    if kind == "auto":
        kind = next((name for name in ("json", "xml", "yaml") if name in content_type), "plain")
    if kind == "json":
        from salt.utils import json

        return {"dict": json.loads(text)}
    if kind == "xml":
        import xml.etree.ElementTree as ElementTree

        return {"dict": [{item.tag.rpartition("}")[2]: item.text} for item in ElementTree.fromstring(text)]}  # noqa: S314
    if kind == "yaml":
        from salt.utils import yaml

        return {"dict": yaml.safe_load(text)}
    return {"text": text}
