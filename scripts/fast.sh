#!/bin/sh
# Runs the unit tests in parallel, a process per core: `make fast`. Arguments go to pytest (make fast ARGS='-k yaml').
#
# VENV names another environment, and PYTHON the Python with which it is made; LOWEST=1 installs the lowest versions of
# pushsalt's requirements into it.
#
# Choice of tests: the folders and files of APART are left out, since their tests start whole commands, servers, sessions
# or real Salt, or are checks of the source that `make lint` runs; in the others, tests that are marked machines, sshd or slow are left out. A new folder of tests is included; mark
# files slow that take more than a few seconds. hypothesis tries 20 examples of each property instead of 100.
set -eu
cd "$(dirname "$0")/.."
. scripts/venv.sh
VENV="${VENV:-.venv}"
install_into "$VENV" '.[test]'

APART="broker ca check children cli demo differential docs e2e examples ext_pillar formula git hostile impact machines minion
modules orchestrate plugins reactor reports returners run sdb select serve session source transport watch
test_api.py test_share.py functions/test_sys.py"
for path in $APART; do
    set -- "$@" "--ignore=tests/$path"
done
# the compiled modules and tests are kept: compiling them takes as long as running half of the tests
unset PYTHONDONTWRITEBYTECODE
exec "$VENV/bin/python" -m pytest -q --hypothesis-profile few -n "${JOBS:-auto}" --dist loadfile -m 'not machines and not sshd and not slow' "$@"
