"""The options and modules of a target: a part of ``test``. Salt: ``salt/modules/test.py``."""

__virtualname__ = "test"
__usual__ = True
__controller__ = ("conf_test",)
__reads__ = ("conf_test", "get_opts", "opts_pkg", "attr_call", "provider", "providers", "module_report", "not_loaded")


def conf_test():
    """
    Return the value of the option ``test.foo``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' test.conf_test
    """
    return __salt__["config.option"]("test.foo")


def get_opts():
    """
    Return the options of this target, without its pillar, which must not be shown

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' test.get_opts
    """
    return {key: __opts__[key] for key in __opts__ if key not in ("pillar", "grains")}


def opts_pkg():
    """
    Return the options of this target, with its grains

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' test.opts_pkg
    """
    return dict(get_opts(), grains=dict(__grains__))


def attr_call():
    """
    Return the grains, called in attribute notation

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' test.attr_call
    """
    return __salt__.grains.items()


def provider(module):
    """
    Return the name of the file that provides a virtual module

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' test.provider pkg
    """
    try:
        getattr(__salt__, module)
    except AttributeError:
        return ""
    loaded = __salt__._modules[module]
    own = [each for each in loaded if not each["__file__"].startswith("thin/modules/")]
    # one file of Salt may be several files here: the one with its name, or with most of its functions, has Salt's name
    named = [each for each in loaded if each["__file__"] == "thin/modules/%s.py" % module]
    main = (own or named or [max(loaded, key=lambda each: len(each["__functions__"]))])[0]
    return main["__file__"].rsplit("/", 1)[-1].rsplit(".", 1)[0]


def providers():
    """
    Return ``{file: module}`` of all modules

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' test.providers
    """
    return {provider(module): module for module in {name.split(".")[0] for name in __salt__}}


def module_report():
    """
    Return how modules and functions can be called: ``{functions, function_attrs, function_subs, modules, ...}``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' test.module_report
    """
    names = sorted(__salt__)
    modules = sorted({name.split(".")[0] for name in names})
    return {
        "functions": names,
        "function_attrs": names,
        "function_subs": names,
        "modules": modules,
        "module_attrs": modules,
        "missing_attrs": [],
        "missing_subs": [],
    }


def not_loaded():
    """
    Return the file names of modules that are not loaded on this system

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' test.not_loaded
    """
    from thin import runtime

    loaded = set(providers())
    files = {name for names in runtime.virtual_index("modules").values() for name in names}
    return sorted(files - loaded)
