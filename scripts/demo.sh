#!/bin/sh
# Everything for a first run: a virtual environment, pushsalt in it, and `pushsalt demo` with the given options.
set -eu
cd "$(dirname "$0")/.."
. scripts/venv.sh
install_into .venv .
exec .venv/bin/pushsalt demo "$@"
