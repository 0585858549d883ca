"""Account files, dates and password hashes, parsed."""

import pytest

from thin.utils.formats import shacrypt
from thin.utils.system import accounts

#: password, salt, hash: test vectors by the scheme's author
VECTORS = [
    ("Hello world!", "saltstring", "$5$saltstring$5B8vYYiY.CVt1RlTTf8KbXBH3hsxY/GNooZaBBGWEc5"),
    (
        "Hello world!",
        "rounds=10000$saltstringsaltstring",
        "$5$rounds=10000$saltstringsaltst$3xv.VbSHBb41AL9AvLeujZkZRBAwqFMz2.opqey6IcA",
    ),
    (
        "Hello world!",
        "saltstring",
        "$6$saltstring$svn8UoSVapNtMuq1ukKS4tPQd8iKwSMHWjl/O817G3uBnIFNjnQJuesI68u4OTLiBFdcbYEdFCoEOfaS35inz1",
    ),
    (
        "we have a short salt string but not a short password",
        "rounds=77777$short",
        "$6$rounds=77777$short$WuQyW2YR.hBNpjjRhpYD/ifIw05xdfeEyQoMxIXbkvr0gge1a1x3yRULJ5CCaUeOxFmtlcGZelFl5CxtgfiAc0",
    ),
    # computed by the C library's crypt(3)
    ("we have a short salt string but not a short password", "saltsalt", "$1$saltsalt$uDPEl/.SZu.bf77J38Yyk."),
]


def test_gecos_fields_are_parsed_and_written():
    fields = accounts.gecos("Ada Lovelace,12,1,2,x,y")
    assert list(fields.values()) == ["Ada Lovelace", "12", "1", "2", "x,y"]
    assert list(fields) == ["fullname", "roomnumber", "workphone", "homephone", "other"]
    assert accounts.gecos_text(fields) == "Ada Lovelace,12,1,2,x,y"
    assert accounts.gecos_text(accounts.gecos("Ada")) == "Ada"
    assert accounts.gecos("") == dict.fromkeys(fields, "")


@pytest.mark.parametrize(
    ("date", "days"),
    [(0, 0), (20000, 20000), ("-1", -1), ("1970-01-02", 1), ("2030-01-01", 21915), ("2020-02-29 00:00:00", 18321)],
)
def test_dates_are_converted_to_days(date, days):
    assert accounts.days(date) == days


def test_text_that_is_not_a_date_is_unchanged():
    assert accounts.days("never") == "never"


def test_account_files_are_parsed(tmp_path):
    etc = tmp_path / "etc"
    etc.mkdir()
    (etc / "passwd").write_text("root:x:0:0:root:/root:/bin/sh\nada:x:1000:1000:Ada,,,:/home/ada:/bin/bash\n+nis\n\n")
    (etc / "group").write_text("root:x:0:\nada:x:1000:\nwheel:x:10:root,ada\nbad\n")
    (etc / "shadow").write_text("root:*:19000:0:99999:7:::\nada:$6$a$b:19001:1:90:7:5:20000:\nold:!:\n")
    assert [(user.pw_name, user.pw_uid) for user in accounts.users(str(tmp_path))] == [("root", 0), ("ada", 1000)]
    groups = accounts.groups(str(tmp_path))
    assert accounts.group_names("ada", 1000, groups) == ["ada", "wheel"]
    assert accounts.group_names("root", 0, groups) == ["root", "wheel"]
    shadow = accounts.shadow(str(tmp_path))
    assert shadow["ada"] == {
        "name": "ada",
        "passwd": "$6$a$b",
        "lstchg": 19001,
        "min": 1,
        "max": 90,
        "warn": 7,
        "inact": 5,
        "expire": 20000,
    }
    assert (shadow["root"]["inact"], shadow["old"]["lstchg"]) == (-1, -1)


@pytest.mark.parametrize(("password", "salt", "hashed"), VECTORS)
def test_hashes_equal_published_ones(password, salt, hashed):
    algorithm = {"$1$": "md5", "$5$": "sha256", "$6$": "sha512"}[hashed[:3]]
    assert shacrypt.hash_password(password, salt, algorithm) == hashed


@pytest.mark.parametrize(
    ("salt", "algorithm", "message"),
    [("a:b", "sha512", "a salt has only"), ("rounds=x$a", "sha512", "rounds"), ("a", "md4", "unknown algorithm")],
)
def test_invalid_salts_and_algorithms_are_errors(salt, algorithm, message):
    with pytest.raises(ValueError, match=message):
        shacrypt.hash_password("x", salt, algorithm)


def test_salts_are_random():
    assert len({shacrypt.random_salt() for _ in range(20)}) == 20
    assert set(shacrypt.random_salt(500)) <= set(shacrypt.ALPHABET)
