#!/bin/sh
# Runs the unit tests (scripts/fast.sh) by the oldest Python of a controller, with the lowest versions of pushsalt's
# requirements, and by the newest Python of this machine: `make pythons`. Arguments go to pytest.
set -eu
cd "$(dirname "$0")/.."
. scripts/venv.sh

install_into .venv '.[test]'
oldest=$(.venv/bin/python -m tests.beds.pythons 3.10)
newest=$(.venv/bin/python -m tests.beds.pythons newest)
echo "Python 3.10 ($oldest), lowest versions"
LOWEST=1 VENV=.venv-lowest PYTHON="$oldest" sh scripts/fast.sh "$@"
echo "the newest Python ($newest)"
VENV=.venv-newest PYTHON="$newest" sh scripts/fast.sh "$@"
