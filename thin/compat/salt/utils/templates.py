"""Templates, rendered on the controller with this target's grains and pillar. Salt: ``salt/utils/templates.py``.

Only Jinja: a text that a target provides cannot be rendered by another renderer on the controller.
"""

from salt.exceptions import SaltRenderError


def render_jinja_tmpl(tmplstr, context, tmplpath=None):
    from thin import link

    plain = {key: value for key, value in dict(context or {}).items() if _is_plain(value)}
    saltenv = plain.pop("saltenv", None) or "base"
    try:
        data = link.template(None, saltenv, "jinja", plain, None, "", "", tmplstr)
    except link.LinkError as exc:
        raise SaltRenderError(str(exc))
    return data.decode("utf-8") if isinstance(data, bytes) else data


def JINJA(src, from_str=False, to_str=False, context=None, tmplpath=None, **kws):
    """``{"result", "data"}``: the text with ``to_str``, else the path of a temporary file with it."""
    import os

    from thin.utils.files import osutil

    context = dict(kws, **(context or {}))
    try:
        if not from_str:
            with open(src, encoding="utf-8") as handle:
                src = handle.read()
        text = render_jinja_tmpl(src, context, tmplpath)
    except (SaltRenderError, OSError) as exc:
        return {"result": False, "data": str(exc)}
    if to_str:
        return {"result": True, "data": text}
    descriptor, path = osutil.mkstemp()
    with os.fdopen(descriptor, "w", encoding="utf-8") as handle:
        handle.write(text)
    return {"result": True, "data": path}


TEMPLATE_REGISTRY = {"jinja": JINJA}


def _is_plain(value):
    if isinstance(value, dict):
        return all(map(_is_plain, value.values()))
    if isinstance(value, (list, tuple)):
        return all(map(_is_plain, value))
    return value is None or isinstance(value, (bool, int, float, str))
