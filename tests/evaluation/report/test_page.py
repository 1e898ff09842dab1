"""The report as a page and as a Markdown file."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from prefrag.evaluation.report import write_report
from tests.evaluation.report.run_folders import SERVER, SIMULATED, predictions, write_run, write_runs

pytest.importorskip("matplotlib", reason="the report draws with matplotlib: make install EXTRAS=evaluation")

HOSTILE = '<script>alert("1")</script><img src=x onerror=alert(2)> </script> | $x$ [a](b) `c`'


class Tags(HTMLParser):
    """Collects all tags with their attributes, and the text of the embedded JSON."""

    def __init__(self, page: str):
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.data = ""
        self._in_data = False
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._in_data = tag == "script" and dict(attrs).get("id") == "data"

    def handle_data(self, data: str) -> None:
        if self._in_data:
            self.data += data

    def handle_endtag(self, tag: str) -> None:
        self._in_data = False


@pytest.fixture
def _without_plots(monkeypatch: pytest.MonkeyPatch) -> None:
    """Draw no plots, which take far longer than the rest of a report."""
    monkeypatch.setattr("prefrag.evaluation.report.plots.draw_all", lambda *_: [])


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    tmp_path = tmp_path_factory.mktemp("report")
    write_run(tmp_path / "runs" / "a", predictions(35, web=1, question=HOSTILE))
    write_run(tmp_path / "runs" / "b", predictions(10, question=HOSTILE), pipeline="react")
    write_run(tmp_path / "runs" / HOSTILE.replace("/", "") / "c", predictions(20), pipeline="<b>own</b>")
    write_run(tmp_path / "runs" / "d", predictions(20), llm={**SIMULATED, "judge_error": 0.2})
    write_run(tmp_path / "runs" / "e", predictions(20), top_k=3)
    page = write_report([tmp_path / "runs"], tmp_path / "report")
    assert page == tmp_path / "report" / "report.html"
    return page.read_text(), (tmp_path / "report" / "report.md").read_text()


def test_the_page_needs_nothing_from_outside_and_gives_ids_once(report: tuple[str, str]) -> None:
    page, _ = report
    assert not re.search(r"https?:|@import", page)
    for tag, attributes in Tags(page).tags:
        assert tag not in ("link", "img", "iframe", "object", "embed", "base")
        for name in ("src", "href", "xlink:href"):
            assert (attributes.get(name) or "#").startswith("#"), (tag, attributes)
    ids = [attributes["id"] for _, attributes in Tags(page).tags if "id" in attributes]
    assert len(ids) == len(set(ids))


def test_what_others_wrote_is_text(report: tuple[str, str]) -> None:
    page, markdown = report
    tags = Tags(page)

    assert [attributes for tag, attributes in tags.tags if tag == "script"] == [
        {"type": "application/json", "id": "data"},
        {},
    ]
    assert not any(name.startswith("on") for _, attributes in tags.tags for name in attributes)
    assert "b" not in {tag for tag, _ in tags.tags}
    assert json.loads(tags.data)["datasets"]["musique"][0]["q"] == HOSTILE
    assert "<script" not in re.sub(r"\\<", "", markdown)


@pytest.mark.usefixtures("_without_plots")
def test_simulated_runs_are_marked(report: tuple[str, str], tmp_path: Path) -> None:
    for text in report:
        assert "SIMULATED: no run here called a language model." in text

    write_run(tmp_path / "served" / "a", predictions(20), llm=SERVER)
    served = write_report([tmp_path / "served"], tmp_path / "other").read_text()
    assert "SIMULATED" not in served

    for name in ("react", "mspr"):
        write_run(tmp_path / "simulated" / name, predictions(20), pipeline=name)
    mixed = write_report([tmp_path / "simulated", tmp_path / "served"], tmp_path / "mixed").read_text()
    assert "SIMULATED: 2 of 3 runs did not call a language model." in mixed


def test_verdicts_stand_in_both(report: tuple[str, str]) -> None:
    page, markdown = report

    claim = r"is higher than that of react \(\+62\.5; \+\d\d\.\d to \+\d\d\.\d; p \S+ 0\.001, corrected \S+ 0\.001\)"
    assert re.search(claim, page)
    assert re.search(claim, markdown)
    assert re.search(r"\| react \| \+62\.5 \(\+\d\d\.\d to \+\d\d\.\d; p [^|]*\) better \|", markdown)
    assert "worse: more" in page


@pytest.mark.usefixtures("_without_plots")
def test_method_without_a_judge_is_set_against_every_judge_error(tmp_path: Path) -> None:
    for error in (0.0, 0.1, 0.2):
        write_run(tmp_path / f"{error}", predictions(30), judged=True, llm={**SIMULATED, "judge_error": error})
    write_run(tmp_path / "vanilla", predictions(10), pipeline="vanilla_mix", judged=False)

    write_report([tmp_path], tmp_path / "out")

    markdown = (tmp_path / "out" / "report.md").read_text()
    for error in ("0", "0.1", "0.2"):
        section = markdown.partition(f"#### prefrag against each method: musique (judge error {error})")[2]
        assert "| vanilla_mix | +50.0" in section.partition("###")[0]


@pytest.mark.usefixtures("_without_plots")
def test_what_is_wrong_by_construction_is_no_success(tmp_path: Path) -> None:
    write_run(tmp_path / "a", predictions(30))
    write_run(tmp_path / "b", predictions(20), pipeline="react")
    write_run(tmp_path / "c", predictions(0), pipeline="no_retrieval", retriever=None)
    write_run(tmp_path / "served" / "a", predictions(30), llm=SERVER)
    write_run(tmp_path / "served" / "c", predictions(0), pipeline="no_retrieval", retriever=None, llm=SERVER)

    write_report([tmp_path / name for name in "abc"], tmp_path / "simulated")
    write_report([tmp_path / "served"], tmp_path / "real")

    brief = (tmp_path / "simulated" / "report.md").read_text().partition("## In brief")[2].partition("##")[0]
    assert "is higher than that of react (+25.0;" in brief
    assert "; is not compared with no_retrieval: the simulated" in brief
    assert "is higher than that of no_retrieval (+75.0;" in (tmp_path / "real" / "report.md").read_text()


def test_every_line_of_a_markdown_table_has_the_same_cells(report: tuple[str, str]) -> None:
    for table in re.findall(r"(?:^\|.*\n)+", report[1], re.MULTILINE):
        assert len({len(re.findall(r"(?<!\\)\|", line)) for line in table.splitlines()}) == 1


def test_plots_take_the_colours_of_the_page(report: tuple[str, str]) -> None:
    plots = re.findall(r"<svg.*?</svg>", report[0], re.DOTALL)

    # There are plots for accuracy, recall, seconds and judge error, and for further settings.
    assert len(plots) >= 4
    assert sum('-legend_1"' in plot for plot in plots) >= 3
    for plot in plots:
        assert "currentColor" in plot
        assert "var(--series-1)" in plot
        assert not re.search(r"#(?!000000|ffffff|p\d)[0-9a-f]{6}", plot)
        assert 'role="img" aria-label="' in plot


def test_figures_of_prefrag_are_drawn_if_their_methods_were_run(tmp_path: Path) -> None:
    for number, name in enumerate(("vanilla_mix", "prefrag_direct", "prefrag", "react_mix")):
        write_run(tmp_path / "runs" / name, predictions(10 + number, web=1), pipeline=name)

    page = write_report([tmp_path / "runs"], tmp_path / "report").read_text()

    assert "Retrievals from each source, and accuracy (PrefRAG, figure 3)" in page
    assert "Strategies of preference (PrefRAG, figure 5)" in page
    assert "react_mix: Total web 1.00" in page


@pytest.mark.usefixtures("_without_plots")
def test_unpaired_questions_are_named(tmp_path: Path) -> None:
    lines = predictions(20)
    write_run(tmp_path / "a", lines)
    write_run(tmp_path / "b", [*lines[2:-1], {**lines[-1], "answers": ["Alpha"]}], pipeline="react")

    page = re.sub(r"\s+", " ", write_report([tmp_path], tmp_path / "out").read_text())

    markdown = (tmp_path / "out" / "report.md").read_text()
    assert "2 only in a (q000, q001)" in page
    assert "2 only in the first (q000, q001)" in markdown
    for text in (page, markdown):
        assert "1 with another question, earlier turns or gold under the same id (q039)" in text


@pytest.mark.usefixtures("_without_plots")
def test_few_questions_have_an_exact_p_and_no_absent_reference(tmp_path: Path) -> None:
    """A reference that was not run is refused."""

    write_runs(tmp_path, a={"right": 24}, b={"pipeline": "react"})

    page = write_report([tmp_path], tmp_path / "out").read_text()

    assert '<span class="interval">p 0.125, corrected 0.125</span>' in page
    assert "p 0.125, corrected 0.125) no difference shown" in (tmp_path / "out" / "report.md").read_text()
    with pytest.raises(ValueError, match=r"no run of the method crag: choose from prefrag, react"):
        write_report([tmp_path], tmp_path / "out", "crag")


@pytest.mark.slow
def test_the_same_runs_give_the_same_report(tmp_path: Path) -> None:
    write_run(tmp_path / "runs" / "a", predictions(30))
    write_run(tmp_path / "runs" / "b", predictions(20), pipeline="react")

    first, second = (write_report([tmp_path / "runs"], tmp_path / name) for name in ("one", "two"))

    assert first.read_bytes() == second.read_bytes()


def test_one_run_alone_can_be_reported(tmp_path: Path) -> None:
    page = write_report([write_run(tmp_path / "run", predictions(30))], tmp_path / "out").read_text()

    assert "75.0" in page
    assert 'id="comparisons"' not in page


@pytest.mark.usefixtures("_without_plots")
def test_tasks_have_parts_of_their_own(tmp_path: Path) -> None:
    write_run(tmp_path / "runs" / "a", predictions(30))
    write_run(tmp_path / "runs" / "b", predictions(20), pipeline="react")
    write_run(tmp_path / "runs" / "c", predictions(20), pipeline="vanilla_local", split=False)

    write_report([tmp_path / "runs"], tmp_path / "out")

    markdown = (tmp_path / "out" / "report.md").read_text()
    split, whole = markdown.partition("## Split corpus: ")[2].split("## Whole corpus: ")
    tables = [part.partition("### All methods")[2].partition("###")[0] for part in (split, whole)]
    assert ["| vanilla_local |" in table for table in tables] == [False, True]
    assert ["| prefrag |" in table for table in tables] == [True, False]


@pytest.mark.usefixtures("_without_plots")
def test_seeds_are_one_line_with_their_number(tmp_path: Path) -> None:
    for seed, right in enumerate((10, 20, 30)):
        write_run(tmp_path / "runs" / f"{seed}", predictions(right), llm={**SIMULATED, "seed": seed})
    write_run(tmp_path / "runs" / "react", predictions(20), pipeline="react")

    write_report([tmp_path / "runs"], tmp_path / "out")

    table = (tmp_path / "out" / "report.md").read_text().partition("### All methods")[2].partition("###")[0]
    assert "over questions and seeds; methods with fewer seeds: react (1)" in table
    (line,) = re.findall(r"\| prefrag \|.*", table)
    assert line.startswith("| prefrag | **50.0** (")
