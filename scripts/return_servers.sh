#!/bin/sh
# Unpacks Debian's servers, which tests of returners start, below build/servers, without installing them: an installed
# mariadb-server would start a service, and add clients to the PATH of all other tests. Installed servers are used.
set -eu
cd "$(dirname "$0")/.."
root=build/servers
packages="postgresql mariadb-server-core redis-server rsyslog"

[ -e "$root/complete" ] && exit 0
command -v apt-get >/dev/null 2>&1 || exit 0
# the missing packages and libraries that apt would install, without new versions of others
list() { apt-get -qq --no-install-recommends --simulate install $packages 2>/dev/null | sed -n 's/^Inst \([^ ]*\) (.*/\1/p'; }
[ -n "$(list)" ] || apt-get -qq update
lacking=$(list)
rm -rf "$root"
mkdir -p "$root/debs"
# shellcheck disable=SC2086
if [ -n "$lacking" ]; then
    (cd "$root/debs" && { apt-get -qq download $lacking || { apt-get -qq update && apt-get -qq download $lacking; }; } >/dev/null 2>&1)
    for deb in "$root"/debs/*.deb; do
        dpkg-deb -x "$deb" "$root"
    done
fi
rm -rf "$root/debs"
chmod -R go+rX "$root"
: >"$root/complete"
