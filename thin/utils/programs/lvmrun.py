"""Runs the commands of LVM 2 and parses their output."""


def run(run_all, command, quiet=False):
    """What cmd.run_all returns of a command; ``quiet``: its failure is not logged."""
    return run_all(command, python_shell=False, ignore_retcode=quiet)


def said(done, well):
    """``well``, or the words of a command that failed."""
    return done["stderr"].strip() if done["retcode"] else well


def yes(force):
    """The option that confirms prompts, or suppresses output."""
    return "--yes" if force else "-qq"


def rows(run_all, command, name, fields, quiet):
    """A dict for each line of a ``...display -c``; none on failure."""
    done = run(run_all, [command, "-c"] + ([name] if name else []), quiet)
    found = [line.strip().split(":") for line in done["stdout"].splitlines()] if not done["retcode"] else ()
    # a device that nobody uses yet is a sentence, not a row
    return [dict(zip(fields, row)) for row in found if len(row) >= len(fields)]
