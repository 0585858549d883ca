"""docs/configuration.md equals the output of `make docs`."""

import pytest

from pushsalt.options import OPTIONS


@pytest.fixture(scope="module")
def made(script):
    return script("configuration_docs")


def test_the_page_equals_the_output_of_the_script(made):
    assert made.PAGE.read_text("utf-8") == made.page(), "run `make docs` and commit docs/configuration.md"


def test_every_option_is_there_once(made, page):
    there = page("docs/configuration.md")
    names = [row[0].strip("`") for title, *_ in made.SECTIONS for row in there.rows(f"## {title}")]
    assert sorted(names) == sorted(OPTIONS)
