#!/bin/sh
# Installs what the tests need and runs them; arguments go to pytest (scripts/test.sh tests/run -k fanout).
# As root on Debian it installs sshd and the tools to boot machines; without them those tests skip and say why.
set -eu
cd "$(dirname "$0")/.."
. scripts/venv.sh

if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    lacking=""
    for pair in sshd:openssh-server ssh:openssh-client debootstrap:debootstrap systemd-nspawn:systemd-container \
        ip:iproute2 apt-ftparchive:apt-utils sudo:sudo curl:curl git:git; do
        PATH="$PATH:/usr/sbin:/sbin" command -v "${pair%%:*}" >/dev/null 2>&1 || lacking="$lacking ${pair##*:}"
    done
    if [ -n "$lacking" ]; then
        echo "installing$lacking" >&2
        apt-get update -qq
        # shellcheck disable=SC2086
        DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $lacking >/dev/null
    fi
fi

make_venv .venv
.venv/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[test]'
exec .venv/bin/python -m pytest "$@"
