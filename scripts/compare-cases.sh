#!/bin/sh
# Runs case files of tests/differential/cases by real Salt and by pushsalt in twin machines, and says what is different:
# scripts/compare-cases.sh host --keep -k words. SALT_PYTHON and TEST_PYTHON name environments that are there already.
set -eu
cd "$(dirname "$0")/.."
. scripts/venv.sh
with_salt
exec "$TEST_PYTHON" -m tests.differential.compare_cases "$@"
