#!/bin/sh
# Runs the cases of tests/differential/cases by real Salt and by pushsalt in twin machines, as root. Arguments go to pytest.
# Without arguments it runs all of them, writes their record, with digests of the code, and generates
# docs/states-compared.md.
#
#   CASES=ci            only the cases that tests/differential/chosen.py chooses for the day (DAY=2026-11-23); no record
#   RECORD=differing    only the cases that differ by design: records the lines in which they differ
#   RECORD=digests      no case: the record's digests become those of the current code; use it only if all cases passed with it
#   PLAN=1              without Salt: each run is planned before, and the marks and differences of the plan are compared
#                       with it; without arguments it generates docs/plans-compared.md
set -eu
cd "$(dirname "$0")/.."
. scripts/venv.sh
if [ "${RECORD:-}" = digests ]; then
    install_into .venv '.[test]'
    exec "${TEST_PYTHON:-.venv/bin/python}" scripts/states_compared.py --digests
fi
if [ -n "${PLAN:-}" ]; then
    install_into .venv '.[test]'
    export REQUIRE="${REQUIRE:+$REQUIRE,}machines"
    own="$(mktemp -d)"
    trap 'rm -rf "$own"' EXIT
    export OUTCOMES="${OUTCOMES:-$own}"
    .venv/bin/python -m pytest tests/differential/test_plans.py -n "${JOBS:-2}" --dist loadgroup "$@" || failed=$?
    [ $# -gt 0 ] || .venv/bin/python scripts/plans_compared.py --record "$OUTCOMES"
    exit "${failed:-0}"
fi
with_salt
if [ "${CASES:-}" = ci ]; then
    # machines only where they can be booted, as in .ci/run; REQUIRE= allows skips
    export REQUIRE="${REQUIRE-$("$TEST_PYTHON" -m tests.beds.required)},salt"
    DAY="${DAY:-$(date -u +%F)}" # the same for all processes, also after midnight
    export DAY
    "$TEST_PYTHON" -m tests.differential.chosen
    exec "$TEST_PYTHON" -m pytest tests/differential/test_states.py --dist loadgroup "$@"
fi
export REQUIRE="${REQUIRE:+$REQUIRE,}salt,machines"
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
