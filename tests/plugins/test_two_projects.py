"""Two projects in one process: each has its own plug-ins."""

from __future__ import annotations

import json

import pytest

from pushsalt.api import Client, Selection, Settings
from pushsalt.errors import UsageError

MATCHER = "LETTER = '{letter}'\nSOURCE = 'id'\n\n\ndef match(expr, value):\n    return value == '{id}'\n"
FUNCTION = "def where():\n    return '{id}'\n"
ROSTER = "def targets(*args):\n    return {{name: {{'transport': 'offline'}} for name in ('a', 'b', '{id}')}}\n"


@pytest.fixture
def make(tmp_path):
    def make(id, letter):
        folder = tmp_path / id
        for path, text in {
            "salt/_matchers/mine.py": MATCHER,
            "salt/_wrapper/mine.py": FUNCTION,
            "salt/_roster/mine.py": ROSTER,
        }.items():
            (folder / path).parent.mkdir(parents=True)
            (folder / path).write_text(text.format(id=id, letter=letter))
        config = {"file_roots": {"base": ["salt"]}, "pillar_roots": {"base": []}, "roster": "mine"}
        (folder / "pushsalt.yaml").write_text(json.dumps(config))
        return Client(Settings(config=folder / "pushsalt.yaml", cache_dir=tmp_path / f"cache-{id}"))

    return make


def test_they_do_not_mix(make):
    one, other, third = make("one", "K"), make("other", "K"), make("third", "Q")
    for _ in range(2):
        for client, id in ((one, "one"), (other, "other")):
            assert client.target(Selection("K@x", "compound")) == [id]
            assert client.run(Selection(id), "mine.where")[id].ret == id
    assert third.target(Selection("Q@x", "compound")) == ["third"]
    with pytest.raises(Exception, match="no target matches 'K@x'"):
        third.target(Selection("K@x", "compound"))
    with pytest.raises(UsageError, match=r"'mine' cannot be used: .*no plug-in") as caught:
        Client(Settings(config=None, cache_dir=one.settings.cache_dir)).project.vocabulary.named("mine")
    assert caught.value.hint
