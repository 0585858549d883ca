#!/bin/sh
# Everything for a first run: a virtual environment, pushsalt in it, and `pushsalt demo` with the given options.
set -eu
cd "$(dirname "$0")/.."
. scripts/venv.sh
make_venv .venv
.venv/bin/python -m pip install --quiet --disable-pip-version-check --editable .
exec .venv/bin/pushsalt demo "$@"
