#!/bin/sh
# Runs case files of tests/differential/cases by real Salt and by pushsalt in twin machines, and prints the differences:
# scripts/compare-cases.sh host --keep -k words. SALT_PYTHON and TEST_PYTHON name existing environments.
set -eu
cd "$(dirname "$0")/.."
. scripts/venv.sh
with_salt
exec "$TEST_PYTHON" -m tests.differential.compare_cases "$@"
