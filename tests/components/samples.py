"""States and documents that the tests of the components start from."""

from typing import Any

from haystack import Document

from prefrag.components.state.state import Action, RunSettings, Search, State, Step

QUESTION = "When did the yard that built the Aurora win the prize?"


def document(key: str, content: str | None = None, **meta: Any) -> Document:
    return Document(id=key, content=f"About {key}." if content is None else content, meta={"title": key, **meta})


def settings(**changes: Any) -> RunSettings:
    return RunSettings(**{"sources": ("local", "web"), "preferred": "local", **changes})


def state(*steps: Step, question: str = QUESTION, **changes: Any) -> State:
    return State(question, settings(**changes), steps=steps)


def search_step(query: str = "aurora", *searches: Search, **changes: Any) -> Step:
    reply = f"Thought: I look it up.\nAction: Search_Engine\nAction Input: {query}"
    return Step(
        Action.SEARCH, **{"reply": reply, "tool": "Search_Engine", "query": query, "searches": searches, **changes}
    )


def observed_step(*documents: Document, query: str = "aurora", source: str = "local", **changes: Any) -> Step:
    """A finished step, whose documents were kept."""
    search = Search(source, query, documents)
    return search_step(query, search, **{"documents": documents, "source": source, "observed": True, **changes})


def answer_step(answer: str = "1974", **changes: Any) -> Step:
    return Step(Action.ANSWER, **{"reply": f"Final Answer: {answer}", "answer": answer, **changes})


def found(*documents: Document, source: str = "local", query: str = "aurora", **changes: Any) -> Search:
    return Search(source, query, documents, **changes)


def kinds(reached: State) -> list[str]:
    return [event.kind for event in reached.events]


class AtOnce:
    """Term statistics that must be asked for all texts in one call."""

    def __init__(self, statistics: Any):
        self.document_frequencies = statistics.document_frequencies
        self.calls: list[list[str]] = []
        self._analyze = statistics.analyze

    def analyze_many(self, texts: list[str]) -> list[list[str]]:
        self.calls.append(texts)
        return [self._analyze(text) for text in texts]

    def analyze(self, text: str) -> list[str]:
        raise AssertionError("Each text is analysed alone.")
