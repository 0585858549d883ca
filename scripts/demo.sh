#!/bin/sh
# Installs pushsalt into a virtual environment, and runs `pushsalt demo` with the given options.
set -eu
cd "$(dirname "$0")/.."
. scripts/venv.sh
install_into .venv .
exec .venv/bin/pushsalt demo "$@"
