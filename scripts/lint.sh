#!/bin/sh
# Checks style, types, and the Python 3.6 syntax of the code for targets: `make lint`, and the first step of .ci/run.
set -eu
cd "$(dirname "$0")/.."
. scripts/venv.sh
install_into .venv '.[test]'
.venv/bin/ruff format --check --quiet . || { echo "not formatted: run .venv/bin/ruff format ." >&2; exit 1; }
.venv/bin/ruff check .
.venv/bin/mypy
.venv/bin/vermin -t=3.6- --eval-annotations --no-tips --quiet --no-parse-comments --exclude-regex '\.pyi$' thin
