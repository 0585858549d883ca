#!/bin/sh
# Installs real Salt, for the differential tests, into a separate virtual environment; prints the path of its Python.
set -eu
cd "$(dirname "$0")/.."
. scripts/venv.sh

venv="${SALT_VENV:-.venv-salt}"
list=tests/differential/salt-requirements.txt
make_venv "$venv" >&2
state="$(cksum <"$list")"
if [ "$(cat "$venv/installed" 2>/dev/null)" != "$state" ]; then
    echo "installing $(grep '^salt==' "$list") into $venv" >&2
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps --requirement "$list" >&2
    echo "$state" >"$venv/installed"
fi
cd "$venv/bin" && echo "$(pwd)/python"
