#!/bin/sh
# Runs the cases of tests/differential/cases by real Salt and by pushsalt in twin machines, as root. All of them: their
# record is kept, and docs/states-compared.md made of it. With CASES=ci only those marked so, and nothing is written.
# Arguments go to pytest.
set -eu
cd "$(dirname "$0")/.."
. scripts/venv.sh
with_salt
if [ "${CASES:-}" = ci ]; then
    exec "$TEST_PYTHON" -m pytest tests/differential/test_states.py --dist loadgroup "$@"
fi
RECORD="$(mktemp -d)"
export RECORD
trap 'rm -rf "$RECORD"' EXIT
"$TEST_PYTHON" -m pytest tests/differential/test_states.py -n "${JOBS:-2}" --dist loadgroup "$@" || failed=$?
"$TEST_PYTHON" scripts/states_compared.py --record "$RECORD"
exit "${failed:-0}"
