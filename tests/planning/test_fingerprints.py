"""Secrets in plans: equal ones have equal fingerprints, others do not, and no part of them is shown."""

from __future__ import annotations

import pytest

from pushsalt.planning.fingerprints import Fingerprints
from pushsalt.redact import Redactor

SECRET = "correct-horse-1"


@pytest.fixture
def redactor() -> Redactor:
    found = Redactor()
    found.add(SECRET)
    found.add("other-secret-2")
    return found


def test_equal_and_different(redactor: Redactor) -> None:
    hides = Fingerprints(redactor)
    one, same, other = (hides.text(f"a={text} b") for text in (SECRET, SECRET, "other-secret-2"))
    assert one == same != other
    assert SECRET not in one and "other-secret-2" not in other
    assert one == f"a=**********({hides.of(SECRET)}) b"


def test_keyed_by_plan(redactor: Redactor) -> None:
    assert Fingerprints(redactor).text(SECRET) != Fingerprints(redactor).text(SECRET)
    assert Fingerprints(redactor, b"k").text(SECRET) == Fingerprints(redactor, b"k").text(SECRET)


def test_structures(redactor: Redactor) -> None:
    hides = Fingerprints(redactor)
    data = {
        "web1": {"states": [{"diff": f"--- \n+++ \n@@ -1 +1 @@\n-p={SECRET}\n+p=other-secret-2\n", "n": 1, "x": None}]}
    }
    found = hides.answer(data)
    state = found["web1"]["states"][0]
    assert state["diff"] == (
        f"--- \n+++ \n@@ -1 +1 @@\n-p=**********({hides.of(SECRET)})\n+p=**********({hides.of('other-secret-2')})\n"
    )
    assert (state["n"], state["x"]) == (1, None)
    assert data["web1"]["states"][0]["diff"].count(SECRET) == 1, "the data itself is left alone"


def test_the_former_secret_of_a_diff(redactor: Redactor) -> None:
    """It is unknown, and masked because of its place; its fingerprint differs."""
    hides = Fingerprints(redactor)
    before, after = hides.text(f"--- \n+++ \n@@ -1 +1 @@\n-p=former-secret-0\n+p={SECRET}\n").split("\n")[3:5]
    assert "former" not in before and before[1:] != after[1:]
    assert before == f"-p=**********({hides.of('former-secret-0')})"


def test_masks_that_were_there(redactor: Redactor) -> None:
    assert Fingerprints(redactor).text("a **********") == "a **********"
    assert Fingerprints(redactor).text(f"********** {SECRET}").count("(") == 1
