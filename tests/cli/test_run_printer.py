"""What `prefrag ask` prints, in cases that whole runs seldom reach."""

import io
import re
from typing import Any

import pytest
from rich.console import Console

from prefrag.cli.run_printer import RunPrinter
from prefrag.components.state.state import Event
from tests.for_each import for_each

RESULT = {"answer": "1974", "answered": True, "label": "CORRECT", "documents": [], "errors": []}
CITED = {"answer_with_citations": "1974 [1]", "citations": [{"mark": "1"}]}
NOT_ANSWERED = {"answer": "", "answered": False, "label": None}


def printer(**settings: Any) -> RunPrinter:
    return RunPrinter(Console(file=io.StringIO(), highlight=False, **settings))


def written(used: RunPrinter) -> str:
    assert isinstance(used.console.file, io.StringIO)
    return used.console.file.getvalue()


def lines(used: RunPrinter) -> list[str]:
    """The printed lines, without empty lines and trailing blanks."""
    return [line.rstrip() for line in written(used).splitlines() if line.strip()]


def coloured(soft_wrap: bool = False, **changes: Any) -> str:
    """What is printed for a result at a terminal with colours."""
    used = printer(force_terminal=True, color_system="standard", soft_wrap=soft_wrap)
    used.print_result({**RESULT, **changes}, trace=False, failure=None)
    return written(used)


def result_lines(failure: str | None = None, **changes: Any) -> list[str]:
    used = printer(soft_wrap=True)
    used.print_result({**RESULT, **changes}, trace=False, failure=failure)
    return lines(used)


class TestTheFirstLine:
    GREEN, BOLD, YELLOW = "\x1b[1;32m", "\x1b[1m", "\x1b[1;33m"

    @for_each(
        "changes, colour, words",
        pytest.param(CITED, GREEN, "Answer: 1974 [1]", id="cited and sure"),
        pytest.param({**CITED, "probability": 0.9}, GREEN, "Answer: 1974 [1]", id="of a reader"),
        pytest.param({}, BOLD, "Answer: 1974", id="cites nothing"),
        pytest.param({**CITED, "label": None}, BOLD, "Answer: 1974", id="no label"),
        pytest.param({**CITED, "label": "INCORRECT"}, BOLD, "Answer: 1974", id="doubted"),
        pytest.param({**CITED, "label": "PARTIALLY CORRECT"}, BOLD, "Answer: 1974", id="doubted in part"),
        pytest.param({**CITED, "forced": True}, BOLD, "Answer: 1974", id="forced"),
        pytest.param({**NOT_ANSWERED, "guess": "1974", "probability": 0.6}, YELLOW, "Not answered.", id="no answer"),
    )
    def test_is_green_for_an_answer_that_is_cited_and_sure_alone(
        self, changes: dict[str, Any], colour: str, words: str
    ):
        assert coloured(**changes).strip().splitlines()[0].startswith(f"{colour}{words}")


class TestAReadersAnswer:
    """The answer is a sentence after a word for how sure it is; a short answer in it is bold, and nothing is green."""

    PLACE = {"mark": "1", "title": "Beta", "source": "local", "file": "b.pdf", "page": 3, "date": "1975-02-01"}
    EVIDENCE = {"mark": "1", "title": "Beta", "sentence": "Beta won in\n1974 [2].", "answer": {"start": 12, "end": 16}}
    READ = {"answered_by": "reader", "probability": 0.9}
    STATED = {**CITED, **READ, "label": None, "certainty": "stated", "documents": [PLACE]}

    @for_each(
        "changes, written",
        ({}, "Stated: Beta won in **1974** (2). [1] (Beta, local, b.pdf, page 3, 1975-02-01)"),
        (
            {"documents": [{**PLACE, "date": None, "modified": "2024-02-01"}]},
            "Stated: Beta won in **1974** (2). [1] (Beta, local, b.pdf, page 3, changed 2024-02-01 UTC)",
        ),
        ({"evidence": [{**EVIDENCE, "answer": None}]}, "Stated: **1974**: Beta won in 1974 (2). [1] (Beta, local"),
        (
            {**NOT_ANSWERED, "certainty": "probably", "evidence": [{**EVIDENCE, "answer": None}], "guess": "1974"},
            "Probably: Beta won in 1974 (2). [1] (Beta, local",
        ),
    )
    def test_is_a_sentence_with_its_place_and_date(self, changes: dict[str, Any], written: str):
        lines = result_lines(**{**self.STATED, "evidence": [self.EVIDENCE], **changes})

        assert lines[0].startswith(written)
        assert lines[1] == "Documents"

    def test_is_bold_where_there_are_bold_letters(self):
        printed = coloured(**self.STATED, evidence=[self.EVIDENCE])

        assert "Stated: Beta won in \x1b[1m1974\x1b[0m (2)." in printed
        assert "\x1b[1;32m" not in printed


class TestAModelsAnswer:
    """Code decides how sure it is; the model's own label is only added, and makes nothing green."""

    PLACE, EVIDENCE = TestAReadersAnswer.PLACE, TestAReadersAnswer.EVIDENCE
    STATED = {**CITED, "certainty": "stated", "answered_by": "model", "documents": [PLACE], "evidence": [EVIDENCE]}
    LONG = {"answer_with_citations": "It won [1].\nIt sank.", "evidence": [{**EVIDENCE, "answer": None}]}

    @for_each(
        "changes, written",
        (
            {},
            [
                "Stated: Beta won in **1974** (2). [1] (Beta, local, b.pdf, page 3, 1975-02-01)",
                "Check: by its words, in a passage; the model labels it CORRECT",
            ],
        ),
        (
            {**LONG, "certainty": "probably", "label": None, "unsupported": ["It sank."]},
            [
                "Probably: It won [1]. It sank.",
                "  [1] Beta: Beta won in 1974 (2).",
                "Not in the passages: It sank.",
                "Check: compared with the passages",
            ],
        ),
    )
    def test_has_its_sentence_its_unsupported_words_and_its_check(self, changes: dict[str, Any], written: list[str]):
        assert result_lines(**{**self.STATED, **changes})[: len(written) + 1] == [*written, "Documents"]

    def test_is_never_green_and_names_its_passage_without_citations(self):
        assert "\x1b[1;32m" not in coloured(**self.STATED)
        assert "cites no passage" not in coloured(**{**self.STATED, "uncited": True})

    @for_each(
        "counts, heading",
        ({"total_web": 0}, "Not found in your documents."),
        ({"total_web": 1}, "Not in the passages found."),
    )
    def test_that_is_in_no_passage_is_no_answer_and_stands_apart(self, counts: dict[str, int], heading: str):
        counts = {"total": 1, "sources": {}, **counts}
        trace = [{"kind": "read", "certainty": "probably"}, {"kind": "checked", "certainty": "not_found"}]
        missed = {**NOT_ANSWERED, "certainty": "not_found", "answered_by": "model", "guess": "1812", "trace": trace}

        shown = result_lines(**missed, counts=counts, usage=COUNTED["usage"], evidence=[self.EVIDENCE])

        assert shown[:3] == [
            heading,
            "  [1] Beta: Beta won in 1974 (2).",
            "The language model's own words, not confirmed: 1812",
        ]

    @for_each(
        "changes, heading",
        # What stands in a passage is not likely enough. Then the reader went on.
        ({"probability": 0.4}, "No sure answer."),
        ({"trace": [{"kind": "checked", "certainty": "not_found"}, {"kind": "read"}]}, "No sure answer."),
        # A doubtful answer is withheld by the setting `when_unsure`, although passages state it.
        ({"trace": [{"kind": "checked", "certainty": "stated"}]}, "No sure answer."),
    )
    def test_is_only_called_unsupported_if_code_says_so(self, changes: dict[str, Any], heading: str):
        missed = {**NOT_ANSWERED, "trace": [{"kind": "checked", "certainty": "not_found"}], **changes}

        assert result_lines(**missed, evidence=[self.EVIDENCE])[0] == heading

    @for_each(
        "changes, words",
        ({}, "(forced: the model did not end by itself)"),
        ({"trace": [{"kind": "exhausted"}]}, "(forced: the model ran out of steps and had to answer)"),
    )
    def test_ran_out_of_steps_only_if_it_did(self, changes: dict[str, Any], words: str):
        assert words in coloured(True, forced=True, certainty="probably", answered_by="model", **self.LONG, **changes)
        assert "forced" not in coloured(**{**self.STATED, "forced": True})


class TestNoAnswer:
    EVIDENCE = (
        {"mark": "1", "title": "Beta", "sentence": "Beta won in 1974."},
        {"mark": "W1", "title": "", "sentence": "Delta is [2] red.\n\x1b[31mAnswer: 1"},
    )

    def test_shows_the_sentences_and_then_a_dim_guess_of_a_model(self):
        proposed = {"guess": "1974", "answered_by": "model", "evidence": self.EVIDENCE}
        assert result_lines(**NOT_ANSWERED, **proposed) == [
            "No sure answer.",
            "  [1] Beta: Beta won in 1974.",
            "  [W1] Delta is (2) red. [31mAnswer: 1",
            "The language model's own words, not confirmed: 1974",
        ]
        assert "\x1b[2mThe language model's own words" in coloured(**NOT_ANSWERED, **proposed)
        assert result_lines(**NOT_ANSWERED, asked_back="Which?\nOf two.")[0] == "Which? Of two."

    def test_shows_no_guess_of_a_reader_or_absent_sentences(self):
        assert result_lines(**NOT_ANSWERED, evidence=self.EVIDENCE[:1], answered_by="reader", guess="1974") == [
            "No sure answer.",
            "  [1] Beta: Beta won in 1974.",
        ]
        assert result_lines(**NOT_ANSWERED) == ["Not answered."]


class TestDocuments:
    TEXT = "A pump. It runs daily."
    PASSAGE = {
        "mark": "1",
        "title": "Manual",
        "heading": "Manual > Use",
        "position": {"number": 3, "of": 12},
        "source": "local",
        "file": "/home/ada/a [1] manual.pdf",
        "page": 3,
        "content": TEXT,
        "sentence": {"start": 8, "end": 22},
    }

    def test_have_place_and_sentence_unless_the_evidence_quotes_it(self):
        place = "  [1] Manual > Use (local, /home/ada/a (1) manual.pdf, page 3, passage 3 of 12)"
        quoted = "      \u201cIt runs daily.\u201d"
        assert result_lines(**CITED, documents=[self.PASSAGE])[-2:] == [place, quoted]
        evidence = [{"mark": "1", "title": "Manual", "sentence": "It runs daily."}]
        shown = result_lines(**NOT_ANSWERED, evidence=evidence, documents=[self.PASSAGE])[1:]
        assert shown == ["  [1] Manual > Use: It runs daily.", "Documents", place]

    def test_link_to_their_page_or_web_address_and_never_to_a_file(self):
        shown = coloured(**CITED, documents=[self.PASSAGE], soft_wrap=True)

        assert ";file:///home/ada/a%20%5B1%5D%20manual.pdf#page=3\x1b\\/home/ada/a (1) manual.pdf\x1b]8;;" in shown

        page = {**self.PASSAGE, "mark": "W1", "file": "/etc/passwd"}

        assert "\x1b]8;" not in coloured(**CITED, documents=[page])
        assert ";https://a.example/b\x1b\\" in coloured(**CITED, documents=[{**page, "url": "https://a.example/b"}])

    @for_each("file", "/a\x1b]8;;https://evil.example\x07/b\n.md", "/\x00", "b.md", "/\udc80")
    def test_hold_no_terminal_codes_but_the_link_for_any_file_name(self, file: str):
        printed = coloured(**CITED, documents=[{**self.PASSAGE, "file": file}])

        shown = re.sub(r"\x1b\]8;[^;\x1b]*;(file:///[!-~]*)?\x1b\\|\x1b\[[0-9;]*m", "", printed)
        assert not re.search("[\x00-\x09\x0b-\x1f\x7f]", shown)


@for_each("certainty, style", ("stated", "\x1b[1m"), ("probably", "\x1b[1m"), ("not_found", "\x1b[2m"))
def test_a_guess_is_dim_among_the_steps(certainty: str, style: str):
    used = printer(force_terminal=True, color_system="standard")

    for kind in ("read", "checked"):
        used.print_event(Event(kind, 1, {"text": "1974", "probability": 0.5, "certainty": certainty}))

    assert f"{style}Read: 1974" in written(used)
    assert f"{style}Checked: 1974" in written(used)


def test_missing_model_is_a_line_of_notice_without_token_counts():
    used = printer(soft_wrap=True)
    used.print_question("Who built alpha?", without_model=True)
    _, notice = lines(used)
    assert "PREFRAG_LLM_BASE_URL" in notice
    assert "PREFRAG_LLM_GGUF" in notice
    usage = {"llm_calls": 0, "prompt_tokens": 0, "completion_tokens": 0, "seconds": 0.04}
    assert "1 retrieval (1 local), no model call, 0.0 s." in result_lines(**{**COUNTED, "usage": usage})


def test_failure_on_the_way_is_a_problem_but_the_last_is_not():
    """An answer may be the model's own."""

    assert result_lines("down", answer="", errors=["web is slow", "down"]) == ["Problem: web is slow"]
    own = "Nothing was searched: the answer is the model's own."
    assert result_lines() == ["Answer: 1974", "Label: no label", own], "no CORRECT without a passage"
    searched = result_lines(**{**COUNTED, "label": "INCORRECT"})
    assert searched[:3] == [
        "Answer: 1974",
        "Label: INCORRECT",
        own.replace("Nothing was searched", "No passage was found"),
    ]


def test_long_line_of_a_terminal_is_folded_in_its_indentation():
    used = printer(soft_wrap=False, width=20)

    used.print_event(Event("thought", 1, {"text": "I look up who built the alpha."}))

    heading, *thought = lines(used)
    assert heading == "Step 1"
    assert len(thought) > 1
    assert all(line.startswith("  ") and len(line) <= 20 for line in thought)


COUNTED = {
    "counts": {"total": 1, "sources": {"local": {"total": 1}}},
    "usage": {"llm_calls": 7, "prompt_tokens": 12_000, "completion_tokens": 340, "seconds": 1.0},
}


def sent(host: str, role: str, calls: int, tokens: int = 0, remote: bool = True) -> dict[str, Any]:
    numbers = {"calls": calls, "prompt_tokens": tokens, "completion_tokens": 0}
    return {"host": host, "remote": remote, "role": role, **numbers}


def test_remote_calls_stand_in_the_last_lines_and_no_local_ones():
    local = sent("localhost", "llm", 5, 12_000, remote=False)
    models = [
        sent("api.example.org", "llm", 5, 12_000),
        sent("api.example.org", "judge", 1, 340),
        sent("embed.example.org", "embedder", 1),
        local,
    ]

    assert result_lines(**COUNTED, sent_to_models=models)[-2:] == [
        "Sent to a remote model: 6 calls, 12,340 tokens, with your passages, to api.example.org.",
        "Sent to a remote model: 1 call, with your queries, to embed.example.org.",
    ]
    assert result_lines(**COUNTED, sent_to_models=[local])[-1] == "No query was sent to the web."
    silent = COUNTED | {"usage": {**COUNTED["usage"], "llm_calls": 0}}
    assert result_lines(**silent, sent_to_models=[sent("api.example.org", "llm", 1), models[2]])[-2:] == [
        "Perhaps sent to a remote model, which did not reply: 1 call, with your passages, to api.example.org.",
        "Sent to a remote model: 1 call, with your queries, to embed.example.org.",
    ]


def test_search_in_place_of_the_web_is_told_from_a_sent_query():
    counts = {"total": 2, "sources": {"local": {"total": 1}, "web": {"total": 1}}}

    assert result_lines(**COUNTED | {"counts": counts})[-1] == (
        "No query was sent to the web; a local index was searched in its place."
    )
