#!/bin/sh
# Runs tests/differential against real Salt: EXAMPLES random trees, made from SEED. Arguments go to pytest.
set -eu
cd "$(dirname "$0")/.."
. scripts/venv.sh

SALT_PYTHON="${SALT_PYTHON:-$(sh scripts/salt-venv.sh)}"
export SALT_PYTHON EXAMPLES="${EXAMPLES:-300}"
[ -n "${SEED:-}" ] || SEED="$(date +%s)"
export SEED
install_into .venv '.[test]'
echo "$EXAMPLES examples from seed $SEED; again, on any machine: make differential EXAMPLES=$EXAMPLES SEED=$SEED"
exec .venv/bin/python -m pytest tests/differential --ignore=tests/differential/test_states.py "$@"
