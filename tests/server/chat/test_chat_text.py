"""How a checked answer of a language model is written in a chat, and what of it is remembered."""

from typing import Any

from prefrag.server.chat.chat_text import strip_notes, write_content
from prefrag.server.chat.open_webui import write_summary
from tests.for_each import for_each

ALPHA = {"mark": "1", "id": "a", "title": "alpha", "source": "local", "content": "Alpha was built by Beta."}
CARRIER = {"mark": "1", "title": "alpha", "sentence": "Alpha was built by Beta."}
SPAN = {"answer": {"start": 19, "end": 23}}
STATED = {
    "answer": "Beta",
    "answer_with_citations": "Beta [1]",
    "answered": True,
    "answered_by": "model",
    "certainty": "stated",
    "label": "CORRECT",
    "documents": [ALPHA],
    "evidence": [{**CARRIER, **SPAN}],
}
LONG = {"answer_with_citations": "Built by **Beta** [1].", "evidence": [{**CARRIER, "answer": None}]}
LIST = {**LONG, "answer_with_citations": "- Beta [1]\n\n- Gamma", "certainty": "probably", "unsupported": ["*Gamma*"]}
MISSED = {
    "answer": "",
    "answer_with_citations": "",
    "answered": False,
    "answered_by": "model",
    "certainty": "not_found",
    "guess": "Gamma *x*",
    "documents": [ALPHA],
    "evidence": [CARRIER],
    "trace": [{"kind": "checked", "certainty": "not_found"}],
}


def written(**changes: Any) -> str:
    return write_content({**STATED, **changes}, cites=True, marks={}, lists_sources=False)


@for_each(
    "changes, text, remembered",
    ({}, "Stated: Alpha was built by **Beta**. [1] (alpha, local)", "Beta"),
    ({"certainty": "probably"}, "Probably: Alpha was built by **Beta**. [1] (alpha, local)", "Beta"),
    (LONG, "Stated: Built by **Beta** [1].\n\n> [1] alpha: Alpha was built by Beta.", "Built by **Beta** [1]."),
    (
        LIST,
        "Probably:\n\n- Beta [1]\n\n- Gamma\n\n> [1] alpha: Alpha was built by Beta.\n\nNot in the passages: \\*Gamma\\*",
        "- Beta [1]\n\n- Gamma",
    ),
    (
        MISSED,
        "Not found in your documents.\n\n> [1] alpha: Alpha was built by Beta.\n\n"
        "Note: the language model's own words, not confirmed: *Gamma \\*x\\**.",
        "No sure answer.",
    ),
    (
        {**MISSED, "guess": None},
        "Not found in your documents.\n\n> [1] alpha: Alpha was built by Beta.",
        "No sure answer.",
    ),
)
def test_answer_follows_its_certainty_and_precedes_its_sentence(changes: dict[str, Any], text: str, remembered: str):
    assert written(**changes) == text
    assert strip_notes(text) == remembered


@for_each("words", "Stated: Beta", "Probably: Beta", "Not in the passages: x")
def test_a_model_cannot_write_our_headings_itself(words: str):
    unchecked = {"answer_with_citations": words, "certainty": None, "evidence": []}

    assert written(**unchecked) == f"({words.replace(':', ':)')}"


@for_each(
    "changes, note",
    ({"forced": True, "trace": [{"kind": "exhausted"}], **LIST}, "the model ran out of steps and had to answer"),
    ({"forced": True, **LIST}, "the model did not end by itself"),
    (
        {"answered_by": "reader", "trace": [{"kind": "model_failed", "message": "The model is\ndown."}]},
        "the extractive reader found this without a language model; The model is down",
    ),
    ({"certainty": None, "evidence": [], "uncited": True}, "the answer cites none of the passages"),
    (
        {"certainty": None, "evidence": [], "documents": [], "counts": {"total": 1}},
        "no passage was found, so the answer is the model's own",
    ),
)
def test_a_doubt_is_a_note(changes: dict[str, Any], note: str):
    assert written(**changes).endswith(f"\n\nNote: {note}.")


@for_each("changes", {"forced": True, "trace": [{"kind": "exhausted"}]}, {"uncited": True})
def test_nothing_is_doubted_that_a_passage_states(changes: dict[str, Any]):
    assert "Note:" not in written(**changes)


@for_each(
    "changes, words",
    ({}, "Stated, by its words, in a passage, correct by the model's own check"),
    ({"label": None, "certainty": "probably"}, "Probably, compared with the passages"),
    ({"label": None, "answered_by": "reader"}, "Stated, read without a language model"),
    ({"certainty": None}, "Correct by the model's own check"),
    ({"certainty": None, "documents": []}, "Not checked"),
    ({**MISSED, "not_found": True}, "Not found in your documents"),
)
def test_last_line_in_open_webui_says_how_the_answer_was_checked(changes: dict[str, Any], words: str):
    summary = write_summary({**STATED, **changes})["data"]["description"]

    assert summary == f"{words} · 0 searches · nothing sent out"
