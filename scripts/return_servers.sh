#!/bin/sh
# Debian's servers that tests of returners start themselves: unpacked below build/servers, not installed. An installed
# mariadb-server would put clients into the PATH of all other tests and begin a service. What the system has is used.
set -eu
cd "$(dirname "$0")/.."
root=build/servers
packages="postgresql mariadb-server-core redis-server rsyslog"

[ -e "$root/complete" ] && exit 0
command -v apt-get >/dev/null 2>&1 || exit 0
# what apt would install for them here: those packages and libraries that this system lacks, no new versions
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
