"""Applies a patch with patch(1); its dry runs tell whether the patch was applied before."""

import os
import subprocess

from thin.exceptions import CommandExecutionError
from thin.utils.files import safepath

FORBIDDEN = ("-N", "--forward", "-r", "--reject-file", "-o", "--output")


def options(text, strip=None):
    """(options to pass on, how many leading components of names to strip or None). Raises CommandExecutionError for
    options that are not allowed."""
    from thin.utils import words as shell

    words, kept, refused = shell.split(text or ""), [], []
    while words:
        word = words.pop(0)
        refused += [bad for bad in FORBIDDEN if word.startswith(bad)][:1]
        if word.startswith(("-p", "--strip")):
            flag = "-p" if word.startswith("-p") else "-strip"
            number = word[2:] if flag == "-p" else word.partition("=")[2] or (words.pop(0) if words else "")
            if not number.isdigit():
                raise CommandExecutionError(
                    "Invalid format for '%s' CLI option. Consider using the 'strip' option for this state." % flag
                )
            strip = int(number)
        else:
            kept.append(word)
    if refused:
        raise CommandExecutionError("The following CLI options are not allowed: %s" % ", ".join(refused))
    return kept, strip


def run(name, patch, words):
    """Run patch(1) on a file or directory. Returns a dict as ``cmd.run_all``. CommandExecutionError if there is no
    patch.

    It runs in the opened folder, where it follows no links; its output is changed to contain the file's whole path."""
    whole = os.path.isdir(name)
    with safepath.at(os.path.join(name, "any") if whole else name, follow=True) as place:
        shown = name if place.folder is None else "./" + place.name
        files = [] if whole and place.folder else ["-d", name] if whole else [shown]
        try:
            process = subprocess.Popen(
                ["patch"] + words + files,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=dict(os.environ, LC_ALL="C"),
                cwd=place.folder,
            )
        except OSError:
            raise CommandExecutionError("patch executable not found on minion")
        out, err = (text.decode("utf-8", "replace").rstrip("\n") for text in process.communicate(patch))
    if not whole:
        out, err = out.replace(shown, name), err.replace(shown, name)
    return {"pid": process.pid, "retcode": process.returncode, "stdout": out, "stderr": err}


def apply(ret, name, patch, words, strip, reject_file, test):
    """Apply the patch, unless its reverse can be applied: then it was applied before. Fills and returns ``ret``."""
    if strip is None and os.path.isdir(name):
        strip = 0
    words = words + ([] if strip is None else ["-p%d" % strip])
    trial = run(name, patch, words + ["--forward", "--reject-file=-", "--dry-run"])
    if trial["retcode"] == 0:
        if test:
            ret["result"] = None
            ret["comment"] = "The patch would be applied"
            ret["changes"] = trial
            return ret
        ret["changes"] = run(name, patch, words + ["--forward", "--reject-file=-"])
        ret["result"] = ret["changes"]["retcode"] == 0
        ret["comment"] = "Patch successfully applied" if ret["result"] else "Failed to apply patch"
        return ret
    if run(name, patch, words + ["-R", "-f", "--reject-file=-", "--dry-run"])["retcode"] == 0:
        ret["comment"] = "Patch was already applied"
        return ret
    ret["result"] = False
    if trial["retcode"] == 2 and trial["stderr"]:
        ret["comment"] = trial["stderr"]
        return ret
    ret["comment"] = "Patch would not apply cleanly, no changes made. Results of dry-run are below."
    if reject_file is None:
        ret["comment"] += " Run state again using the reject_file option to save rejects to a persistent file."
    elif not test:
        trial = _rejects(name, patch, words, reject_file)
    ret["comment"] += "\n\n" + "\n".join(text for text in (trial["stdout"], trial["stderr"]) if text)
    return ret


def _rejects(name, patch, words, reject_file):
    """Write the rejected hunks to ``reject_file``. patch(1) only does so in a run that writes its output, too: that
    goes to a temporary file."""
    from thin.utils.files import osutil

    descriptor, unwanted = osutil.mkstemp()
    os.close(descriptor)
    try:
        return run(name, patch, words + ["--forward", "--reject-file=" + reject_file, "--output=" + unwanted])
    finally:
        safepath.unlink(unwanted)
