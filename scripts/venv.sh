# Sourced by the other scripts: finds a Python >= 3.10 and makes the virtual environment $1 (once), with pip in it.
# As root on Debian it installs what venv needs; otherwise it says what to install.

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

make_venv() {
    if [ -x "$1/bin/python" ] && "$1/bin/python" -m pip --version >/dev/null 2>&1; then
        return 0
    fi
    if ! python=$(find_python); then
        echo "error: no Python 3.10 or newer found; install one, or name it: PYTHON=/path/to/python3 $0" >&2
        return 1
    fi
    rm -rf "$1"
    if ! "$python" -m venv "$1" >/dev/null 2>&1 || ! "$1/bin/python" -m pip --version >/dev/null 2>&1; then
        if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
            echo "installing python3-venv" >&2
            apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq python3-venv >/dev/null || return 1
            rm -rf "$1"
            "$python" -m venv "$1" || return 1
        else
            echo "error: Python's venv module is incomplete; on Debian and Ubuntu: apt-get install python3-venv" >&2
            return 1
        fi
    fi
}
