"""Runs in the Python of real Salt: writes Salt's answers to the inputs of a recording (see test_recordings).

    python recorder.py KIND FOLDER <inputs.json >answers.json

``FOLDER`` is for files of Salt. Inputs are a list, and so are the answers, in the same order.
"""

import copy
import importlib
import json
import logging
import os
import sys
import time


def yaml_texts(texts, folder):
    """What Salt loads from YAML texts, and dumps. Types that JSON lacks are marked (see test_yaml_as_salt)."""
    import salt.serializers.yaml
    from salt.utils import yaml

    for text in texts:
        try:
            value = yaml.safe_load(text)
        except Exception:
            yield {"error": True}
            continue
        yield {
            "load": encoded(value),
            "dump": yaml.safe_dump(value),
            "block": yaml.safe_dump(value, default_flow_style=False),
            "serialized": salt.serializers.yaml.serialize(value),
        }


def encoded(value):
    if isinstance(value, dict):
        return {"__d": [[encoded(key), encoded(item)] for key, item in value.items()]}
    if isinstance(value, tuple):
        return {"__t": [encoded(item) for item in value]}
    if isinstance(value, (set, frozenset)):
        return {"__s": sorted((encoded(item) for item in value), key=repr)}
    if isinstance(value, list):
        return [encoded(item) for item in value]
    if isinstance(value, bytes):
        return {"__b": value.decode("latin1")}
    if isinstance(value, float):
        return {"__f": repr(value)}
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) >= 2**53:
        return {"__i": str(value)}
    return value


def arguments(texts, folder):
    """The value of each text as an argument on a command line."""
    from salt.utils import args

    for text in texts:
        values, keywords = args.parse_input([text], condition=False)
        yield repr((args.condition_input(values, {}), keywords))


def filters(templates, folder):
    """The results of templates."""
    import salt.utils.templates

    os.environ["TZ"] = "UTC"
    time.tzset()
    opts = {"cachedir": folder, "file_client": "local", "file_roots": {}, "pillar_roots": {}, "id": "it"}
    for template in templates:
        context = {"opts": opts, "saltenv": None, "sls": "", "salt": {}, "grains": {}, "pillar": {}}
        yield salt.utils.templates.render_jinja_tmpl(template, context)


def helpers(calls, folder):
    """The results of helpers of ``salt.utils`` and ``salt.serializers``, or the class of the exception."""
    for call in calls:
        module, _, function = call["fun"].rpartition(".")
        module = importlib.import_module(("salt." if module.startswith("serializers") else "salt.utils.") + module)
        try:
            got = getattr(module, function)(*copy.deepcopy(call["args"]), **copy.deepcopy(call["kwargs"]))
            yield {"want": plain(got)}
        except Exception as exc:
            yield {"raises": type(exc).__name__}


def plain(value):
    if isinstance(value, bytes):
        return {"bytes": value.decode("latin-1")}
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, (list, tuple)) else value


def engine(runs, folder):
    """The returns of lowstates."""
    import salt.config
    import salt.state

    usual = salt.config.minion_config(None)
    usual.update(
        id="minion",
        file_client="local",
        local=True,
        root_dir=folder,
        state_events=False,
        file_roots={"base": [os.path.join(folder, "root")]},
        pillar_roots={"base": []},
        conf_file=os.path.join(folder, "minion"),
        **{name: os.path.join(folder, name) for name in ("cachedir", "extension_modules", "pki_dir", "sock_dir")},
    )
    for run in runs:
        state = salt.state.State({**copy.deepcopy(usual), **run["opts"], "test": run["test"]})
        ordered, errors = state.order_chunks(copy.deepcopy(run["low"]))
        assert not errors, errors
        yield state.call_listen(ordered, state.call_chunks(ordered))


def main():
    channel, sys.stdout = os.fdopen(os.dup(1), "w", encoding="utf-8"), sys.stderr
    os.dup2(2, 1)  # output of Salt or of a command must not get into the answer
    logging.disable(logging.CRITICAL)
    kind, folder = sys.argv[1:]
    json.dump(list(globals()[kind](json.load(sys.stdin), folder)), channel)
    channel.close()


if __name__ == "__main__":
    main()
