"""Runs in the Python of real Salt: evaluates target expressions by a minion's matchers.

Argument: a folder for Salt's files. Reads one JSON object per line from stdin: ``id``, ``grains``, ``pillar``,
``resources``, ``nodegroups``, and ``ask``, a list of ``[tgt_type, expression, delimiter or null]``. With ``manager``
the target is a resource, whose manager evaluates ``M@``. Writes one list per line to stdout: answers, or the class of
the exception.
"""

import json
import logging
import os
import sys
import warnings


class Managed:
    """The matchers by name; the one of M@ receives the id of the manager."""

    def __init__(self, matchers):
        self._matchers = matchers

    def __getitem__(self, name):
        function = self._matchers[name]
        if name != "managing_minion_match.match":
            return function
        return lambda tgt, opts=None, minion_id=None: function(
            tgt, opts=opts, minion_id=opts.get("manager") or minion_id
        )


def main():
    warnings.simplefilter("ignore")
    import salt.config
    import salt.loader
    from salt.utils.minions import nodegroup_comp

    folder = sys.argv[1]
    opts = salt.config.minion_config(None)
    opts.update(root_dir=folder, cachedir=os.path.join(folder, "cache"), conf_file=os.path.join(folder, "minion"))
    opts.update(extension_modules=os.path.join(folder, "extmods"), grains={}, pillar={}, id="it")
    logging.disable(logging.CRITICAL)
    channel, sys.stdout = os.fdopen(os.dup(1), "w", encoding="utf-8"), sys.stderr
    os.dup2(2, 1)
    load = salt.loader.matchers
    # compound_match loads its matchers with the options of the first target, and uses their pillar for a target without
    # one
    salt.loader.matchers = lambda opts: Managed(load(dict(opts, grains={}, pillar={})))
    matchers = salt.loader.matchers(opts)
    for line in sys.stdin:
        document = json.loads(line)
        target_opts = dict(
            opts, **{key: document[key] for key in ("id", "grains", "pillar", "resources", "nodegroups")}
        )
        target_opts["manager"] = document.get("manager")
        answers = []
        for tgt_type, expression, delimiter in document["ask"]:
            kwargs = {"delimiter": delimiter} if delimiter else {}
            try:
                if tgt_type == "nodegroup":  # which reads the options of the process only
                    tgt_type, expression = "compound", nodegroup_comp(expression, document["nodegroups"])
                answers.append(bool(matchers[tgt_type + "_match.match"](expression, opts=target_opts, **kwargs)))
            except Exception as exc:
                answers.append(type(exc).__name__)
        print(json.dumps(answers), file=channel, flush=True)


main()
