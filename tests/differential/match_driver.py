"""Run by the Python that has real Salt: answers target expressions as a minion's matchers do.

Argument: a folder for what Salt writes. One JSON object a line comes on stdin: ``id``, ``grains``, ``pillar``,
``resources``, ``nodegroups``, and ``ask``, a list of ``[tgt_type, expression, delimiter or null]``. With ``manager``
the one that is asked about is a resource: ``M@`` is asked of its manager, as whose id that term is evaluated. One list
goes to stdout: the answers, or the class of the exception.
"""

import json
import logging
import os
import sys
import warnings


class Managed:
    """The matchers, of which the one of M@ is given the manager's id."""

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
    # compound_match loads its own, by the options of the one that is asked about first; where one has no pillar, the
    # pillar that they were loaded with is looked at
    salt.loader.matchers = lambda opts: Managed(load(dict(opts, grains={}, pillar={})))
    matchers = salt.loader.matchers(opts)
    for line in sys.stdin:
        asked = json.loads(line)
        own = dict(opts, **{key: asked[key] for key in ("id", "grains", "pillar", "resources", "nodegroups")})
        own["manager"] = asked.get("manager")
        answers = []
        for tgt_type, expression, delimiter in asked["ask"]:
            more = {"delimiter": delimiter} if delimiter else {}
            try:
                if tgt_type == "nodegroup":  # which itself looks at the options of the process alone
                    tgt_type, expression = "compound", nodegroup_comp(expression, asked["nodegroups"])
                answers.append(bool(matchers[tgt_type + "_match.match"](expression, opts=own, **more)))
            except Exception as exc:
                answers.append(type(exc).__name__)
        print(json.dumps(answers), file=channel, flush=True)


main()
