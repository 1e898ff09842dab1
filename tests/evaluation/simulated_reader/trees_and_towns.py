"""Questions with their gold passages, and the simulated reader's replies to them."""

import re
from collections.abc import Sequence
from typing import Any

import pytest
from haystack import Document

from prefrag.components.reasoner.reasoner import Reasoner
from prefrag.components.state.state import Action, RunSettings, Search, State, Step
from prefrag.evaluation.question import Hop, Question
from prefrag.evaluation.simulated_reader import SimulatedReader

# The quick tests measure a rate over few seeds, so it may be further off.
AT_A_RATE = pytest.mark.parametrize(("seeds", "off"), [(40, 0.25), pytest.param(400, 0.06, marks=pytest.mark.slow)])
FORMATS = ("text", "json", "tools")
TWO_TOOLS = [
    {"name": "Search_Local", "description": "Your own documents.", "source": "local"},
    {"name": "Search_Web", "description": "The web.", "source": "web"},
]

PASSAGES = [
    ("p1", "Aurora", "The Aurora is a log that was built by the yard Borealis."),
    ("p2", "Borealis", "Borealis, a yard, stands in Corvo."),
    ("p3", "Corvo", "Corvo is a town. Its mayor is Dora Stern."),
    ("p4", "Corvo", "Corvo is also the name of an island."),
    ("p5", "Elm", "Elms are trees."),
    ("p6", "Fir", "Firs are trees, too."),
]
QUESTIONS: list[dict[str, Any]] = [
    {
        "id": "hops",
        "question": "Who is mayor where the Aurora was built?",
        "answers": ["Dora Stern"],
        "supporting_ids": ["p1", "p2", "p3"],
        "decomposition": [
            {"question": "Aurora >> built by", "answer": "Borealis", "supporting_id": "p1"},
            {"question": "Where stands #1 ?", "answer": "Corvo", "supporting_id": "p2"},
            {"question": "#2 >> mayor", "answer": "Dora Stern", "supporting_id": "p3"},
        ],
    },
    {
        "id": "facts",
        "question": "In which town stands the maker of the Aurora?",
        "answers": ["Corvo"],
        "supporting_ids": ["p1", "p2"],
        "evidence_triples": [["Aurora", "builder", "Borealis"], ["Borealis", "place", "Corvo"]],
    },
    {"id": "bare", "question": "What are the elm and the Fir?", "answers": ["trees"], "supporting_ids": ["p5", "p6"]},
    {"id": "yes", "question": "Are elms trees?", "answers": ["yes"], "supporting_ids": ["p5", "p6"]},
]
HOPS, FACTS, BARE, YES = (question["question"] for question in QUESTIONS)


def document(key: str, source: str = "local") -> Document:
    title, text = next((title, text) for name, title, text in PASSAGES if name == key)
    return Document(id=key, content=text, meta={"title": title, "source": source})


def filler(number: int) -> Document:
    return Document(id=f"x{number}", content=f"Nothing, {number} times.", meta={"title": f"Nothing {number}"})


def state(question: str, *shown: Sequence[str], max_steps: int = 3) -> State:
    """A run whose searches showed these passages; its queries have no meaning."""
    settings = RunSettings(sources=("local", "web"), preferred="local", max_steps=max_steps, external=("web",))
    steps = []
    for number, keys in enumerate(shown, start=1):
        documents = tuple(document(key) for key in keys)
        query = f"query {number}"
        reply = f"Thought: I look it up.\nAction: Search_Engine\nAction Input: {query}"
        searches = (Search("local", query, documents),)
        note = "" if documents else "No passages were found."
        steps.append(
            Step(
                Action.SEARCH,
                reply,
                tool="Search_Engine",
                query=query,
                searches=searches,
                source="local",
                documents=documents,
                observed=True,
                note=note,
            )
        )
    return State(question, settings, steps=tuple(steps))


def read_step(reader: SimulatedReader, at: State, form: str = "text", **settings: Any) -> Step:
    """Return the step that the reasoner reads from the reader's reply."""
    return Reasoner(reader, reply_format=form, **settings).run(state=at)["state"].step  # type: ignore[arg-type]


def next_queries(reader: SimulatedReader, at: State, many: int, **settings: Any) -> list[tuple[str, str]]:
    """Return the actions and queries of a run that finds nothing more."""
    queries = []
    for _ in range(many):
        at = Reasoner(reader, **settings).run(state=at)["state"]
        queries.append((at.step.tool, at.step.query))
        at = at.with_last(observed=True, note="No passages were found.", source="local")
    return queries


def bare(text: str) -> str:
    """The words of a text with blanks around each, in lower case."""
    return " " + re.sub(r"\W+", " ", text.lower()).strip() + " "


def asks(name: str) -> dict[str, Any]:
    return {"response_format": {"type": "json_schema", "json_schema": {"name": name, "schema": {}}}}


def question(number: int) -> Question:
    data = dict(QUESTIONS[number])
    hops = tuple(Hop(**hop) for hop in data.pop("decomposition", ()))
    return Question(
        data["id"],
        data["question"],
        tuple(data["answers"]),
        supporting_ids=tuple(data["supporting_ids"]),
        decomposition=hops,
    )
