#!/bin/sh
# The unit tests, as many at a time as there are cores: `make fast`. Arguments go to pytest (make fast ARGS='-k yaml').
#
# VENV and PYTHON name another environment, and the Python that it is made with, LOWEST=1 fills it with the lowest versions
# of what pushsalt needs.
#
# How tests are chosen: the folders of APART are left out, since their tests start the whole command line, servers,
# sessions or real Salt; of the others, what is marked machines, sshd or slow is left out. A new folder of tests is
# included, and a file in one that takes more than a few seconds is marked slow.
set -eu
cd "$(dirname "$0")/.."
. scripts/venv.sh
VENV="${VENV:-.venv}"
install_into "$VENV" '.[test]'

APART="ca check children cli demo differential docs e2e examples ext_pillar formula git hostile machines minion modules plugins
run sdb select session transport"
for folder in $APART; do
    set -- "$@" "--ignore=tests/$folder"
done
exec "$VENV/bin/python" -m pytest -q -n "${JOBS:-auto}" --dist loadfile -m 'not machines and not sshd and not slow' "$@"
