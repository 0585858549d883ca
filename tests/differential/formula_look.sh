# What a machine is, beside its files: packages, units, users, groups. Run there after each run of a formula.

dpkg-query --show --showformat 'package ${Package} ${Version} ${db:Status-Abbrev}\n'
passing='^(session-|user@|user-|run-|init\.scope|apt-daily|systemd-tmpfiles|systemd-hostn|systemd-timed|systemd-local)'
passing="$passing|\.(device|slice|scope|swap|target|mount)$"
systemctl list-unit-files --plain --no-legend --no-pager | awk -v passing="$passing" '$1 !~ passing {print "unit", $1, $2}'
systemctl list-units --all --plain --no-legend --no-pager |
    awk -v passing="$passing" '$1 !~ passing && $2 != "not-found" {print "unit", $1, "is", $2, $3, $4}'
getent passwd | sed 's/^/user /'
getent group | sed 's/^/group /'
true
