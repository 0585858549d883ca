#!/bin/sh
# Runs the unit tests (scripts/fast.sh) as the user nobody, in a copy of the checkout with a separate environment:
# `make nonroot`. Needs root on Debian. Arguments go to pytest.
set -eu
cd "$(dirname "$0")/.."
. scripts/venv.sh
[ "$(id -u)" = 0 ] || { echo "error: this script changes the user, which needs root" >&2; exit 1; }

# a Python of the system: the user nobody cannot read the home of root
python="${PYTHON:-/usr/bin/python3}"
"$python" -c 'import ensurepip' 2>/dev/null || apt_install python3 python3-venv
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
git ls-files -z --cached --others --exclude-standard | tar --null --files-from=- --create --ignore-failed-read |
    tar --extract --directory "$folder"
mkdir "$folder/home" "$folder/tmp"
chown -R nobody: "$folder"
cd "$folder"
setpriv --reuid nobody --regid nogroup --clear-groups env -u PYENV_ROOT HOME="$folder/home" TMPDIR="$folder/tmp" \
    PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin \
    PYTHON="$python" VENV=.venv REQUIRE= sh scripts/fast.sh -p no:cacheprovider "$@"
