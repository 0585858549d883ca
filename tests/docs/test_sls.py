"""docs/sls.md: its examples are a project with the described results."""

import pytest

pytestmark = pytest.mark.slow

PAGE = "docs/sls.md"


@pytest.fixture
def primer(page, project):
    files = page(PAGE).files()
    assert len(files) == 8
    for name, text in files.items():
        project.write(name, text)
    return project


def test_a_state(primer):
    motd = primer.folder / "srv" / "motd"
    assert primer.apply("motd", "--test")["message-of-the-day"]["result"] is None
    assert not motd.exists()
    assert primer.apply("motd")["message-of-the-day"]["changes"]
    assert motd.read_text() == "Welcome.\n"
    assert not primer.apply("motd")["message-of-the-day"]["changes"]


def test_requisites(primer):
    first, second = primer.apply("app"), primer.apply("app")
    assert list(first) == [primer.path("/srv/app/app.conf"), "reload-app", "check-app"]
    assert all(one["result"] for one in first.values())
    assert first["reload-app"]["changes"] and not second["reload-app"]["changes"]
    assert (primer.folder / "srv" / "app" / "reloaded").read_text().count("\n") == 1


def test_templates(primer):
    assert all(one["result"] for one in primer.apply("site").values())
    made = {path.name for path in (primer.folder / "srv" / "site").glob("*.conf")}
    assert made == {"80.conf", "443.conf"}
    assert (primer.folder / "srv" / "site" / "443.conf").read_text() == "listen 443;\nserver_name www.example.org;\n"


def test_the_highstate(primer):
    done = primer.apply()
    assert {"message-of-the-day", "reload-app", "done", primer.path("/srv/site/80.conf")} <= set(done)
    assert (primer.folder / "srv" / "motd").read_text() == "Welcome to localhost.\n"


def test_the_commands_that_look(primer):
    assert "site" in primer.returns("run", "localhost", "pillar.items")
    low = primer.returns("run", "localhost", "state.show_low_sls", "app")
    assert [one["__id__"] for one in low][1:] == ["reload-app", "check-app"]
    assert "contents" in primer.returns("run", "localhost", "sys.state_doc", "file.managed")["file.managed"]
    assert primer.run("check").returncode == 0, primer.run("check").stdout


def test_the_requisites_are_those_of_the_program(page):
    from pushsalt.compile.words import REQUISITES

    there = [row[0].strip("`") for row in page(PAGE).rows("### Requisites")]
    assert set(there) <= set(REQUISITES) | {"use"}
    assert {"require", "watch", "onchanges", "onfail", "prereq", "listen"} <= set(there)
