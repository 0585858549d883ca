#!/bin/sh
# Applies public formulas by real Salt and by pushsalt in twin machines, as root: tests/differential/formulas/README.md.
# With no arguments all of them: their record is kept, and docs/formulas-compared.md made of it. Arguments: names of
# formulas, -k WORD, -v. FORMULAS names a folder of clones; else those of github.com are cloned.
set -eu
cd "$(dirname "$0")/.."
. scripts/venv.sh
with_salt
if [ $# -gt 0 ]; then
    exec "$TEST_PYTHON" -m tests.differential.formularuns "$@"
fi
RECORD="$(mktemp -d)"
trap 'rm -rf "$RECORD"' EXIT
"$TEST_PYTHON" -m tests.differential.formularuns --record "$RECORD" || failed=$?
"$TEST_PYTHON" scripts/formulas_compared.py --record "$RECORD"
exit "${failed:-0}"
