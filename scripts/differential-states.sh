#!/bin/sh
# Runs the cases of tests/differential/cases by real Salt and by pushsalt in twin machines, as root. All of them: their
# record is kept, and docs/states-compared.md made of it. With CASES=ci only those marked so, and nothing is written.
# Arguments go to pytest.
set -eu
cd "$(dirname "$0")/.."
. scripts/venv.sh

SALT_PYTHON="${SALT_PYTHON:-$(sh scripts/salt-venv.sh)}"
export SALT_PYTHON REQUIRE="${REQUIRE:+$REQUIRE,}salt,machines"
if [ -z "${TEST_PYTHON:-}" ]; then
    install_into .venv '.[test]'
    TEST_PYTHON=.venv/bin/python
fi
export PYTHONPATH="$PWD${PYTHONPATH:+:$PYTHONPATH}"
if [ "${CASES:-}" = ci ]; then
    exec "$TEST_PYTHON" -m pytest tests/differential/test_states.py --dist loadgroup "$@"
fi
RECORD="$(mktemp -d)"
export RECORD
trap 'rm -rf "$RECORD"' EXIT
"$TEST_PYTHON" -m pytest tests/differential/test_states.py -n "${JOBS:-2}" --dist loadgroup "$@" || failed=$?
"$TEST_PYTHON" scripts/states_compared.py --record "$RECORD"
exit "${failed:-0}"
