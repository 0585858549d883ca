# Sourced by the other scripts. `install_into VENV WHAT` finds a Python >= 3.10, makes the virtual environment (once), and
# installs WHAT (`.` or `.[test]`) into it if it, or its requirements, changed since the last time. Tests and the site
# use the versions of constraints.txt; with LOWEST=1 pushsalt's own requirements have their lowest versions. As root on
# Debian it installs the package that venv needs; otherwise the error names it.

find_python() {
    for name in ${PYTHON:-} python3 python3.14 python3.13 python3.12 python3.11 python3.10; do
        if command -v "$name" >/dev/null 2>&1 &&
            "$name" -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null; then
            command -v "$name"
            return 0
        fi
    done
    return 1
}

apt_install() {
    echo "installing $*" >&2
    if ! said=$( (apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@") 2>&1); then
        echo "$said" >&2
        echo "error: apt-get could not install $*" >&2
        return 1
    fi
}

has_pip() { [ -x "$1/bin/python" ] && "$1/bin/python" -m pip --version >/dev/null 2>&1; }

make_venv() {
    has_pip "$1" && return 0
    if ! python=$(find_python); then
        echo "error: no Python 3.10 or newer found; install one, or name it: PYTHON=/path/to/python3 sh $0" >&2
        return 1
    fi
    rm -rf "$1"
    if "$python" -m venv "$1" >/dev/null 2>&1 && has_pip "$1"; then
        return 0
    fi
    rm -rf "$1"
    if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null 2>&1; then
        echo "error: $python lacks its venv module; on Debian and Ubuntu: apt-get install python3-venv" >&2
        return 1
    fi
    apt_install python3-venv && "$python" -m venv "$1" && has_pip "$1"
}

install_into() {
    make_venv "$1" || return 1
    state="$(pwd) $(cat pyproject.toml constraints.txt | cksum)${LOWEST:+ lowest}"
    for done in "$2" '.[test]'; do # the environment of the tests has the requirements of `.`, too
        [ "$(cat "$1/installed" 2>/dev/null)" != "$done $state" ] || return 0
    done
    echo "installing pushsalt into $1" >&2
    constraints=constraints.txt
    if [ -n "${LOWEST:-}" ]; then
        constraints="$1/lowest.txt"
        "$1/bin/python" scripts/constraints.py lowest >"$constraints" || return 1
    elif [ "$2" = . ]; then
        constraints=/dev/null # for users: the newest versions
    fi
    "$1/bin/python" -m pip install --quiet --disable-pip-version-check --constraint "$constraints" --editable "$2" ||
        return 1
    echo "$2 $state" >"$1/installed"
}

# Real Salt and the Python of the tests, for comparisons: SALT_PYTHON and TEST_PYTHON name existing environments.
with_salt() {
    SALT_PYTHON="${SALT_PYTHON:-$(sh scripts/salt-venv.sh)}" || return 1
    if [ -z "${TEST_PYTHON:-}" ]; then
        install_into .venv '.[test]' || return 1
        TEST_PYTHON=.venv/bin/python
    fi
    PYTHONPATH="$PWD${PYTHONPATH:+:$PYTHONPATH}"
    export SALT_PYTHON PYTHONPATH
}
