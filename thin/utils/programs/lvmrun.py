"""Runs the commands of LVM 2 and parses their output."""


def run(run_all, command, quiet=False):
    """The return of cmd.run_all for a command; ``quiet``: do not log a failure."""
    return run_all(command, python_shell=False, ignore_retcode=quiet)


def outcome(done, well):
    """``well``, or the error of a failed command."""
    return done["stderr"].strip() if done["retcode"] else well


def yes(force):
    """The option that confirms prompts (``force``), or the one that suppresses output."""
    return "--yes" if force else "-qq"


def rows(run_all, command, name, fields, quiet):
    """A dict for each line of a ``...display -c``; [] on failure."""
    done = run(run_all, [command, "-c"] + ([name] if name else []), quiet)
    rows = [line.strip().split(":") for line in done["stdout"].splitlines()] if not done["retcode"] else ()
    # an unused device is printed as a sentence, which has too few columns
    return [dict(zip(fields, row)) for row in rows if len(row) >= len(fields)]
