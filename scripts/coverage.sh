#!/bin/sh
# Measures which lines and branches of pushsalt/ the tests reach, including render processes and commands: `make
# coverage`. Arguments go to pytest; the default is all tests without machines and comparisons with Salt, which take one
# and a half hours on two cores. Fails below 90 %.
set -eu
cd "$(dirname "$0")/.."
. scripts/venv.sh
VENV="${VENV:-.venv-coverage}"
install_into .venv '.[test]'
# coverage.py stops a process of several threads forever in Python 3.11
PYTHON="${PYTHON:-$(.venv/bin/python -m tests.beds.pythons newest)}" install_into "$VENV" '.[test]'
if ! "$VENV/bin/python" -c 'import sys; sys.exit(sys.version_info < (3, 12))'; then
    echo "error: coverage needs Python 3.12 or newer: remove $VENV, and name one: PYTHON=/path/to/python3 sh $0" >&2
    exit 1
fi
"$VENV/bin/python" -c 'import coverage' 2>/dev/null ||
    "$VENV/bin/python" -m pip install --quiet --constraint constraints.txt coverage

cp scripts/coverage_children.py "$("$VENV/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')"

data="$PWD/build/coverage"
rm -rf "$data"
mkdir -p "$data"
cat >"$data/rc" <<END
[run]
branch = true
parallel = true
source = pushsalt
data_file = $data/data
patch = subprocess, fork, _exit
plugins = coverage_children
disable_warnings = no-data-collected, module-not-imported, module-not-measured
[report]
exclude_also =
    if TYPE_CHECKING:
    @overload
    raise NotImplementedError
END
# the test of what a start imports would find coverage itself; with the limit of the other one coverage cannot write
[ "$#" -gt 0 ] || set -- tests --ignore=tests/differential --ignore=tests/machines -m 'not machines' \
    --deselect=tests/cli/test_process.py::test_the_start_imports_only_needed_modules \
    --deselect=tests/reactor/test_react.py::test_a_journal_that_cannot_be_written_is_said_and_nothing_is_done
"$VENV/bin/python" -m coverage run --rcfile="$data/rc" -m pytest -q -n "${JOBS:-2}" --dist loadfile "$@" || failed=$?
"$VENV/bin/python" -m coverage combine --rcfile="$data/rc" --quiet "$data"
"$VENV/bin/python" -m coverage report --rcfile="$data/rc" --skip-covered --sort=cover --fail-under=90
exit "${failed:-0}"
