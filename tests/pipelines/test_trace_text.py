"""The trace in words."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from prefrag.components.state.state import Event
from prefrag.pipelines.trace_text import trace_text
from tests.for_each import for_each


@for_each(
    "kind, data, line",
    ("thought", {"text": "I look\nit up."}, "Thought: I look it up."),
    ("search", {"source": "local", "query": "alpha"}, "Search local: alpha"),
    (
        "found",
        {"source": "local", "titles": ["A", "B"], "seconds": 0.0004, "sent_out": False, "error": None},
        "Found in local (2 in 0.4 ms): A · B",
    ),
    (
        "found",
        {"source": "web", "titles": [], "seconds": 1.25, "sent_out": True, "error": None},
        "Found in web (0 in 1.2 s, the query was sent out): nothing",
    ),
    (
        "held_back",
        {"source": "web", "query": "a\n" * 150, "reason": "it has 300 characters"},
        f"Held back from web: {'a ' * 98}a... (it has 300 characters)",
    ),
    ("found", {"source": "web", "titles": [], "error": "down"}, "Search of web failed: down"),
    (
        "verdict",
        {"status": True, "judged_by": "first_step", "analysis": "Nothing to compare with.", "parsed": True},
        "Verdict: keep what was found (the first retrieval is not judged)",
    ),
    (
        "verdict",
        {"status": False, "judged_by": "nothing_new", "analysis": "", "parsed": True},
        "Verdict: switch to another source (all was shown before)",
    ),
    (
        "verdict",
        {"status": False, "judged_by": "classifier", "analysis": "At 3%.", "parsed": True},
        "Verdict: switch to another source (by the classifier). At 3%.",
    ),
    (
        "verdict",
        {"status": False, "judged_by": "model", "analysis": "", "parsed": False},
        "Verdict: switch to another source (by the setting on_doubt, because the model's reply could not be read)",
    ),
    (
        "verdict",
        {"status": False, "judged_by": "model", "analysis": "", "parsed": True, "again": True},
        "Verdict: ask the preferred source in other words (by the model)",
    ),
    (
        "evaluated",
        {
            "source": "local",
            "action": "in doubt",
            "reason": "No.",
            "judged_by": "model",
            "parsed": False,
            "scores": [{"title": "A", "score": None}],
        },
        "Evaluated local: in doubt (by the setting on_doubt, because the model's reply could not be read). No. "
        "Scores: A none",
    ),
    (
        "strips",
        {"source": "web", "judged_by": "", "strips": [{"title": "A", "score": 1.0, "kept": True}]},
        "Refined web: 1 of 1 strips kept. Scores: A 1.00",
    ),
    (
        "strips",
        {
            "source": "web",
            "judged_by": "model",
            "parsed": False,
            "strips": [{"title": "A", "score": None, "kept": True}],
        },
        "Refined web: 1 of 1 strips kept (by the model), because their scores could not be read. Scores: A none",
    ),
    (
        "found",
        {"source": "local", "titles": ["A", "B", "A"], "places": ["Use", "", "Care, passage 4"], "seconds": 0.001},
        "Found in local (3 in 1.0 ms): A (Use; Care, passage 4) · B",
    ),
    ("found", {"source": "web", "titles": ["A", "A"], "seconds": 1.0}, "Found in web (2 in 1.0 s): A (2 passages)"),
    (
        "found",
        {
            "source": "web",
            "titles": ["A"],
            "seconds": 61.0,
            "sent_out": True,
            "attempts": [*[{"error": "DDGS: no reply within 20 s"}] * 3, {"error": None}],
        },
        "Found in web (1 in 61.0 s, the query was sent out): A; failed before: 3 x DDGS: no reply within 20 s",
    ),
    ("observation", {"source": "web", "documents": ["A"]}, "Observed from web: A"),
    ("observation", {"source": "web", "documents": ["A"], "same_as": "found"}, "Observed from web: all of them"),
    (
        "observation",
        {"source": "local+web", "documents": ["A"], "same_as": "selection"},
        "Observed from local+web: what was selected",
    ),
    (
        "observation",
        {"source": "local", "documents": ["A", "B"], "left_out": ["A (Care)"]},
        "Observed from local: all of them but A (Care)",
    ),
    ("answer", {"text": "1974", "label": "CORRECT", "forced": False}, "Answer: 1974 [the model's label: CORRECT]"),
    ("checked", {"text": "1974 [1]", "certainty": "stated", "probability": None}, "Checked: 1974 [1] (stated)"),
    ("checked", {"text": "1974", "certainty": "probably", "probability": 0.8}, "Checked: 1974 (probably, 80% likely)"),
    ("checked", {"text": "1974", "certainty": "not_found", "probability": 0.0}, "Checked: 1974 (not in the passages)"),
    # What has a probability stands in a passage.
    ("checked", {"text": "1974", "certainty": "not_found", "probability": 0.4}, "Checked: 1974 (doubtful, 40% likely)"),
    ("confirmed", {"text": "1974", "probability": 0.62}, "Asked whether a sentence states 1974: Yes with 62%"),
    ("confirmed", {"text": "1974", "probability": None}, "Asked whether a sentence states 1974: no clear reply"),
    ("checked", {"text": "", "certainty": "not_found"}, "Checked: the model gives no answer from the passages"),
    ("repeated", {"query": "alpha"}, "Asked already: alpha. Another query is searched instead"),
    ("model_failed", {"message": "It is down."}, "Goes on without the language model: It is down."),
    ("answer", {"text": "1974", "label": None, "forced": True}, "Forced answer: 1974"),
    (
        "reflection",
        {"label": "INCORRECT", "explanation": "No year.", "supplement": True},
        "Reflection: the answer is labelled INCORRECT, so every source is searched once more. No year.",
    ),
    ("reflection", {"label": None, "explanation": "", "supplement": False}, "Reflection: the answer has no label"),
    ("exhausted", {"replies": 4}, "Out of steps: the next reply must be an answer (replies so far: 4)"),
    ("unknown_action", {"tool": "Dance"}, "Unknown action: 'Dance', the model gets a correction"),
    ("unreadable", {"tool": ""}, "Unreadable reply: the model gets a correction"),
    ("rewritten", {"question": "When did Beta win?"}, "Question understood as: When did Beta win?"),
    ("asked_back", {"text": "What do you mean?"}, "Asked back: What do you mean?"),
    ("rewritten", {"question": None}, "Follow-up: could not be rewritten to stand alone, so it is used unchanged"),
    (
        "cut",
        {"caller": "judge", "documents_cut": 2, "documents_shortened": 1, "context_window": 4096},
        "Cut to fit the judge's window of 4096 tokens (passages left out: 2, shortened: 1)",
    ),
    *(
        ("read", {"text": "1974 [1]", "probability": likely, "certainty": certainty}, f"Read: 1974 [1] ({words})")
        for likely, certainty, words in (
            (0.914, "stated", "91% likely, given as the answer"),
            (0.55, "probably", "55% likely, only the sentence around it is given"),
            (0.116, "not_found", "12% likely, not given"),
        )
    ),
    ("read", {"text": "", "probability": 0.0, "certainty": "not_found"}, "Read: the passages do not contain an answer"),
    ("without_model", {"text": "The answer was not reviewed."}, "The answer was not reviewed."),
    ("error", {"caller": "reasoner", "message": "down"}, "Error of the reasoner: down"),
    ("some later kind", {"a": 1}, 'some later kind: {"a": 1}'),
    (
        "selection",
        {"method": "cfs", "documents": ["A", "B"], "pairs": [{"positive": True}, {"positive": False}]},
        "Selected by cfs (pairs classified: 2, positive: 1): A · B",
    ),
    ("selection", {"method": "qdc", "documents": ["A"], "pairs": []}, "Selected by qdc: A"),
    (
        "look_ahead",
        {"text": "In Delta.", "lowest": 0.7, "token": "In", "masked": [], "query": "In Delta.", "again": False},
        "Drafted: In Delta. (its least likely token: 'In', 70%; left out of the query: nothing)",
    ),
    (
        "refined",
        {"of_step": 1, "tokens_before": 2000, "tokens_after": 300, "used": True},
        "Summarised the observation of step 1: 2000 to 300 tokens",
    ),
    (
        "steered",
        {"source": "web", "named": "local", "reason": "the last label was False"},
        "Steered to web, although the model named local (the last label was False)",
    ),
    (
        "retrieval",
        {"status": True, "explanation": "It asks for a year.", "parsed": True},
        "Retrieve: the documents are searched. It asks for a year.",
    ),
    (
        "retrieval",
        {"status": False, "explanation": "", "parsed": False},
        "Retrieve: no document is needed (two replies could not be read)",
    ),
    (
        "critique",
        {"document": "A", "answer": "1974", "relevant": True, "support": "fully", "usefulness": 4, "score": 2.25},
        "From A: 1974 (relevant, fully supported, usefulness 4, score 2.25)",
    ),
    (
        "critique",
        {"document": "A", "answer": "", "relevant": False, "support": "none", "score": 0.0, "parsed": False},
        "From A: no answer (irrelevant, no support, usefulness unknown, score 0.0; not all of it could be read)",
    ),
    (
        "review",
        {"status": False, "supplement": True, "explanation": "Half is missing."},
        "Review: the answer is doubted, so one more search follows. Half is missing.",
    ),
)
def test_writes_each_kind_of_event_in_one_line(kind: str, data: dict[str, Any], line: str):
    assert trace_text(Event(kind, 1, data)) == line


@given(st.text(), st.lists(st.text()))
def test_holds_nothing_that_a_terminal_would_obey(text: str, titles: list[str]):
    for event in (Event("thought", 1, {"text": text}), Event("found", 1, {"source": "web", "titles": titles})):
        assert trace_text(event).isprintable()
