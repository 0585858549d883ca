#!/bin/sh
# Runs the cases of tests/differential/cases by real Salt and by pushsalt in twin machines, as root. Arguments go to pytest.
# All of them: their record is kept, with digests of the code that they ran with, and docs/states-compared.md is made of it.
#
#   CASES=ci            only those that tests/differential/chosen.py chooses for the day (DAY=2026-11-23); no record
#   RECORD=differing    only those that differ by design: the lines in which they differ become those that they are to show
#   RECORD=digests      none: what the record says holds for the code as it is now, since all were green with it
set -eu
cd "$(dirname "$0")/.."
. scripts/venv.sh
if [ "${RECORD:-}" = digests ]; then
    install_into .venv '.[test]'
    exec "${TEST_PYTHON:-.venv/bin/python}" scripts/states_compared.py --digests
fi
with_salt
export REQUIRE="${REQUIRE:+$REQUIRE,}salt,machines"
if [ "${CASES:-}" = ci ]; then
    DAY="${DAY:-$(date -u +%F)}" # the same for all processes, whatever the clock strikes
    export DAY
    "$TEST_PYTHON" -m tests.differential.chosen
    exec "$TEST_PYTHON" -m pytest tests/differential/test_states.py --dist loadgroup "$@"
fi
OUTCOMES="$(mktemp -d)"
export OUTCOMES
trap 'rm -rf "$OUTCOMES"' EXIT
option=--record
if [ "${RECORD:-}" = differing ]; then
    option=--differing
    export CASES=differs
fi
"$TEST_PYTHON" -m pytest tests/differential/test_states.py -n "${JOBS:-2}" --dist loadgroup "$@" || failed=$?
"$TEST_PYTHON" scripts/states_compared.py "$option" "$OUTCOMES"
exit "${failed:-0}"
