"""Files of PAM. Salt: modules/pam.py"""

import re

from thin.log import getLogger
from thin.utils.files import textfile

__reads__ = ("read_file",)

log = getLogger(__name__)


def read_file(file_name):
    """
    Return the rules of a file of PAM: ``[{interface, control_flag, module, arguments}]``; False when it is not there

    file_name
        Its path

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pam.read_file /etc/pam.d/sshd
    """
    text = textfile.read(file_name)
    if text is None:
        log.error('File "%s" does not exist', file_name)
        return False
    rules = []
    for line in text.splitlines():
        if line.strip() and not line.startswith("#"):
            # a control of several words is in brackets
            words = re.match(r"\s*(\S+)(?:\s+(?:\[([^\]]*)\]|(\S+))(?:\s+(\S+)(.*))?)?", line).groups()
            control = " ".join(words[1].split()) if words[1] is not None else words[2] or ""
            rules.append(
                {
                    "interface": words[0],
                    "control_flag": control,
                    "module": words[3] or "",
                    "arguments": (words[4] or "").split(),
                }
            )
    return rules
