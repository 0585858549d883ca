#!/bin/sh
# Applies public formulas by real Salt and by pushsalt in twin machines, as root: tests/differential/formulas/README.md.
# Without arguments it applies all of them, writes their record, and generates docs/formulas-compared.md. Arguments: names
# of formulas, -k WORD, -v. FORMULAS names a folder of clones; otherwise the formulas are cloned from github.com.
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
