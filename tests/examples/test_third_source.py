"""A third source, following the example's README."""

import re
from collections import Counter
from collections.abc import Callable
from typing import Any

from prefrag import pipelines
from prefrag.pipelines.loading import YAML_PIPELINES
from tests.docs.markdown import CHECKOUT, fenced
from tests.for_each import for_each
from tests.pipelines.scripted import answer, search

HERE = CHECKOUT / "examples" / "third_source"
PIPELINE = HERE / "manuals_tickets_web.yaml"
# `local` as the name of the source, not as a part of other words.
_LOCAL = re.compile(r"(?<![A-Za-z])local(?!_index|_source|[a-z])")
Run = Callable[..., str]


def lines(yaml: str) -> Counter[str]:
    """The lines of a YAML file without comments."""
    return Counter(line for written in yaml.splitlines() if (line := re.sub(r"(^|\s)\s*#.*", "", written).rstrip()))


def test_the_readme_lists_the_lines_that_are_added():
    shipped = (YAML_PIPELINES / "prefrag.yaml").read_text().replace("index null}", "index manuals}")
    shipped_lines, own = lines(_LOCAL.sub("manuals", shipped)), lines(PIPELINE.read_text())
    (listed,) = fenced((HERE / "README.md").read_text(), "yaml")

    assert own - shipped_lines == lines(listed)
    assert shipped_lines - own == Counter({"      sources: &sources [manuals, web]": 1})


def test_the_commands_of_the_readme(run: Run, reply: Callable[..., Any], commands_of: Callable[[str], list[str]]):
    *prepare, ask = commands_of("third_source")
    for command in prepare:
        run(command)
    server = reply(
        search("drifter silent Pellhaven", tool="Search_Tickets"),
        search("Puffin Drifter fault E17", tool="Search_Manuals"),
        answer("the battery is under 9.6 volts"),
    )

    printed = run(ask)

    assert "Answer: the battery is under 9.6 volts" in printed
    assert "Puffin Drifter: Service Manual (manuals)" in printed
    assert "Ticket 102: drifter silent off Pellhaven (tickets)" in printed
    assert "Search_Manuals or Search_Tickets or Search_Web" in server.requests[0]["messages"][-1]["content"]


@for_each("name", "tickets", "tickets_again")
def test_the_tickets_are_no_external_source(name: str):
    pipeline = pipelines.load(PIPELINE)

    assert not pipeline.get_component(name).external
    assert pipeline.get_component("start").external_sources == ["web"]
