"""Options of users' own returners, which only run on the controller. Salt: ``salt/returners/__init__.py``."""


def get_returner_options(virtualname=None, ret=None, attrs=None, **kwargs):
    """``{option: value}`` for the names in ``attrs``: from the profile ``ret_config``, the configuration, or a default.

    Options are in mappings (``NAME: {url: ...}``) or separate (``NAME.url: ...``); empty ones count as missing.
    """
    config = kwargs.get("__salt__", {}).get("config.option")
    opts = kwargs.get("__opts__") or {}

    def value(key):
        return config(key, None) if config is not None else opts.get(key)

    ret = ret if isinstance(ret, dict) else {}
    profile = ret.get("ret_config")
    places = ["{}.{}".format(profile, virtualname)] if profile else []
    places.append(virtualname)
    returner_options = dict(kwargs.get("defaults") or {})
    returner_options = {name: returner_options[name] for name in attrs or () if name in returner_options}
    for name, attr in (attrs or {}).items():
        for place in places:
            nested = value(place)
            nested = nested.get(attr) if isinstance(nested, dict) else None
            given = next((one for one in (nested, value("{}.{}".format(place, attr))) if one not in (None, "")), None)
            if given is not None:
                returner_options[name] = given
                break
    returner_options.update(_of_profile(value, virtualname, returner_options, kwargs))
    returner_options.update(ret.get("ret_kwargs") or {})
    return returner_options


def _of_profile(value, virtualname, options, kwargs):
    """Options of the profile that the option ``profile_attr`` names."""
    name = options.get(kwargs.get("profile_attr"))
    profile = value(name) if name else None
    if not isinstance(profile, dict):
        return {}
    attrs = kwargs.get("profile_attrs") or {}
    return {attr: profile.get("{}.{}".format(virtualname, attrs[attr])) for attr in attrs}
