#!/bin/sh
# Runs tests/differential, and the other tests that need real Salt, against it: EXAMPLES random trees, made from SEED.
# Arguments go to pytest.
set -eu
cd "$(dirname "$0")/.."
. scripts/venv.sh

SALT_PYTHON="${SALT_PYTHON:-$(sh scripts/salt-venv.sh)}"
export SALT_PYTHON EXAMPLES="${EXAMPLES:-300}"
[ -n "${SEED:-}" ] || SEED="$(date +%s)"
export SEED
export REQUIRE="${REQUIRE:+$REQUIRE,}salt"
install_into .venv '.[test]'
echo "$EXAMPLES examples from seed $SEED; again, on any machine: make differential EXAMPLES=$EXAMPLES SEED=$SEED"
exec .venv/bin/python -m pytest tests/differential tests/sdb/test_as_salt.py tests/modules/test_salt_python.py::test_real_salt \
    --ignore=tests/differential/test_states.py "$@"
