#!/bin/sh
# Runs case files of tests/differential/cases by real Salt and by pushsalt in twin machines, and says what is different:
# scripts/beside.sh host --keep -k words. SALT_PYTHON and TEST_PYTHON name environments that are there already.
set -eu
cd "$(dirname "$0")/.."
. scripts/venv.sh

SALT_PYTHON="${SALT_PYTHON:-$(sh scripts/salt-venv.sh)}"
export SALT_PYTHON
if [ -z "${TEST_PYTHON:-}" ]; then
    install_into .venv '.[test]'
    TEST_PYTHON=.venv/bin/python
fi
export PYTHONPATH="$PWD${PYTHONPATH:+:$PYTHONPATH}"
exec "$TEST_PYTHON" -m tests.differential.beside "$@"
