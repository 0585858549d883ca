"""Runs in the Python of real Salt: renders Jinja as Salt does.

Reads one JSON object per line from stdin: ``{"registered": true}`` asks for the names of filters, tests and globals,
``{"kind", "name", "seed", "count", "form"}`` for the results of ``form`` (see test_jinja_filters) with those inputs.
Writes one answer per line to stdout.
"""

import copy
import json
import logging
import os
import sys

import jinja_inputs


def render(template, names):
    import salt.exceptions
    import salt.utils.templates

    opts = {"cachedir": "/nonexistent", "file_client": "local", "file_roots": {}, "pillar_roots": {}, "id": "it"}
    context = dict(names, opts=opts, saltenv=None, sls="", salt={}, grains={}, pillar={})
    try:
        return "", salt.utils.templates.render_jinja_tmpl(template, context)
    except salt.exceptions.SaltRenderError as exc:
        return str(exc.error if hasattr(exc, "error") else exc), ""
    except RecursionError:
        return "recursion", ""


def registered():
    import jinja2.sandbox
    import salt.utils.jinja
    import salt.utils.templates
    from salt.utils.decorators.jinja import JinjaFilter, JinjaGlobal, JinjaTest

    env = jinja2.sandbox.SandboxedEnvironment(extensions=["jinja2.ext.do", salt.utils.jinja.SerializerExtension])
    return {
        "filters": sorted({*env.filters, *JinjaFilter.salt_jinja_filters}),
        "tests": sorted({*env.tests, *JinjaTest.salt_jinja_tests, "list"}),
        "globals": sorted({*env.globals, *JinjaGlobal.salt_jinja_globals, "odict", "show_full_context"}),
    }


def main():
    channel, sys.stdout = os.fdopen(os.dup(1), "w", encoding="utf-8"), sys.stderr
    os.dup2(2, 1)
    logging.disable(logging.CRITICAL)
    for line in sys.stdin:
        document = json.loads(line)
        if "registered" in document:
            answer = registered()
        else:
            answer = []
            for value, args in jinja_inputs.inputs(document["seed"], document["name"], document["count"]):
                names = {"v": copy.deepcopy(value)}
                names.update((f"a{number}", copy.deepcopy(arg)) for number, arg in enumerate(args))
                text = document["form"].replace("ARGS", ", ".join(f"a{number}" for number in range(len(args))))
                try:
                    answer.append(jinja_inputs.limited(lambda text=text, names=names: render(text, names)))
                except (jinja_inputs.TooLong, MemoryError):
                    answer.append(("too long", ""))
        channel.write(json.dumps(answer) + "\n")
        channel.flush()


if __name__ == "__main__":
    main()
