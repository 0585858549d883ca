"""Properties of every driver: values, missing values, set, delete, failure; each with the real program or server."""

import threading
import time

import pytest

from pushsalt.errors import FunctionError, TargetError


def test_the_value_equals_the_stored_one(bed):
    bed.put("db_password", "correct-horse-battery")
    assert bed.store().get(bed.uri("db_password")) == "correct-horse-battery"
    assert bed.store().value(bed.uri("db_password")) == "correct-horse-battery"


def test_every_value_is_added_to_the_redactor(bed):
    bed.put("db_password", "correct-horse-battery")
    bed.store().get(bed.uri("db_password"))
    assert "correct-horse-battery" in bed.hidden


def test_a_missing_value_is_none_or_with_strict_an_error(bed):
    assert bed.store().get(bed.uri("nobody_has_this")) is None
    with pytest.raises(TargetError) as caught:
        bed.store().value(bed.uri("nobody_has_this"))
    assert (caught.value.kind, bed.uri("nobody_has_this") in caught.value.message) == ("secret_unavailable", True)


def test_it_is_asked_once_in_a_command(bed):
    store = bed.store()
    bed.put("once", "first-value")
    assert store.get(bed.uri("once")) == "first-value"
    bed.put("once", "second-value")
    assert store.get(bed.uri("once")) == "first-value"
    store.forget()
    assert store.get(bed.uri("once")) == "second-value"


def test_setting_and_deleting(bed):
    store = bed.store()
    uri = bed.uri("new_one")
    if not bed.sets:
        with pytest.raises(FunctionError, match=f"the driver {bed.profile['driver']} has no `set`"):
            store.set(uri, "a-new-value")
        return
    assert store.get(uri) is None
    assert store.set(uri, "a-new-value")
    assert store.get(uri) == "a-new-value"
    assert "a-new-value" in bed.hidden
    assert bed.store().get(uri) == "a-new-value"
    assert store.delete(uri)
    assert store.get(uri) is None
    assert not store.delete(uri)


def test_a_random_value_is_made_once_for_all_that_ask(bed):
    if not bed.sets:
        pytest.skip("it cannot be set")
    store, uri, found = bed.store(), bed.uri("made_up"), []
    threads = [threading.Thread(target=lambda: found.append(store.get_or_set_hash(uri, 20, "abc"))) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 6 and len(set(found)) == 1 and len(found[0]) == 20 and set(found[0]) <= set("abc")
    assert bed.store().get_or_set_hash(uri, 20) == found[0]
    store.delete(uri)


def test_an_unreachable_store_is_an_error_and_not_tried_again(bed):
    if not bed.down:
        pytest.skip("it cannot be down")
    bed.put("there", "a-value-that-is-there")
    store = bed.store(bed.down)
    with pytest.raises(TargetError) as caught:
        store.get(bed.uri("there"))
    error = caught.value
    assert error.kind == "secret_unavailable" and error.hint
    assert bed.uri("there") in error.message and str(bed.down["driver"]) in error.message
    began = time.monotonic()
    with pytest.raises(TargetError):
        store.get(bed.uri("there"))
    assert time.monotonic() - began < 0.1


def test_answers_for_text_that_is_not_a_uri_of_a_profile(bed):
    store = bed.store()
    for text in ("plain", "sdb://it", "sdb://it/", "sdb://nobody/key", None, 5):
        assert store.get(text) == text
        assert store.set(text, "x") is False
        assert store.delete(text) is False
        with pytest.raises(FunctionError) as caught:
            store.get(text, strict=True)
        assert caught.value.exception == "SaltInvocationError"
