"""``--return lines``: ``id function success`` of each target, in the file that ``returner.lines.file`` names."""

import salt.returners


def returner(ret):
    options = salt.returners.get_returner_options("returner.lines", ret, {"file": "file"}, __opts__=__opts__)
    with open(options["file"], "a") as file:
        file.write(f"{ret['id']} {ret['fun']} {ret['success']}\n")
