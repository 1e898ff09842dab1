"""Stand-ins for a model and a search engine, for unit tests only."""

from __future__ import annotations

import asyncio
import math
import re
import threading
from collections.abc import Sequence
from typing import Any

from haystack import Document, component, default_from_dict, default_to_dict
from haystack.dataclasses import ChatMessage

from prefrag.components.adaptive_rag.question_classifier import Estimate
from prefrag.components.reader.reader import Candidate, Judgement
from tests.marks import put_codes

# The calls of the fakes, by the name that a test gave each. Components are rebuilt from YAML, so a test cannot reach
# the instances.
CALLS: dict[str, list[Any]] = {}
_lock = threading.Lock()


class Giving:
    """Finds these documents, after raising these errors."""

    def __init__(self, *documents: Any, errors: Sequence[BaseException] = ()):
        self.documents = documents
        self.errors = list(errors)
        self.queries: list[str] = []

    def run(self, query: str) -> dict[str, Any]:
        self.queries.append(query)
        if self.errors:
            raise self.errors.pop(0)
        return {"documents": list(self.documents)}


@component
class ScriptedChatGenerator:
    """Replies from a script, in order; a reply that starts with ``!`` is raised instead.

    A mark ``[[1]]`` in a reply becomes the mark in the prompt. If log probabilities are requested, a word
    followed by a number in braces (``Beta{0.3}``) has that probability, and any other word 0.99.

    :param script: The replies; the last one is repeated.
    :param name: The name under which :data:`CALLS` keeps the prompts.
    :param model_host: Where it claims to run.
    """

    def __init__(
        self,
        script: list[str],
        name: str = "model",
        context_window: int = 8_192,
        is_embedded: bool = False,
        model_host: str = "localhost",
        finish_reason: str = "stop",
    ):
        self.finish_reason = finish_reason
        self.script = script
        self.name = name
        self.context_window = context_window
        self.is_embedded = is_embedded
        self.model_host = model_host

    def to_dict(self) -> dict[str, Any]:
        return default_to_dict(
            self,
            script=self.script,
            name=self.name,
            context_window=self.context_window,
            is_embedded=self.is_embedded,
            model_host=self.model_host,
            finish_reason=self.finish_reason,
        )

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> ScriptedChatGenerator:
        return default_from_dict(cls, data)

    @component.output_types(replies=list[ChatMessage])
    def run(self, messages: list[ChatMessage], generation_kwargs: dict[str, Any] | None = None) -> dict[str, Any]:
        with _lock:
            calls = CALLS.setdefault(self.name, [])
            calls.append({"prompt": messages[-1].text, "generation_kwargs": generation_kwargs})
            reply = self.script[min(len(calls), len(self.script)) - 1]
        if reply.startswith("!"):
            raise RuntimeError(reply[1:])
        # A reply that ends with an ellipsis character counts as cut off.
        cut = "length" if reply.endswith("\u2026") else self.finish_reason
        meta: dict[str, Any] = {"usage": {"prompt_tokens": 10, "completion_tokens": 2}, "finish_reason": cut}
        if (generation_kwargs or {}).get("logprobs"):
            meta["logprobs"] = {"content": _word_logprobs(reply)}
        if (generation_kwargs or {}).get("top_logprobs"):
            _add_alternatives(meta["logprobs"]["content"][:1])
        text = put_codes(_PROBABILITY.sub("", reply), messages[-1].text or "")
        return {"replies": [ChatMessage.from_assistant(text, meta=meta)]}

    @component.output_types(replies=list[ChatMessage])
    async def run_async(
        self, messages: list[ChatMessage], generation_kwargs: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        return self.run(messages, generation_kwargs)


_PROBABILITY = re.compile(r"\{([01]\.\d+)\}")


def _word_logprobs(reply: str) -> list[dict[str, Any]]:
    words = re.findall(r"\s*[^\s{]+(?:\{[^}\s]*\})?", reply)
    marked = [(_PROBABILITY.sub("", word), _PROBABILITY.search(word)) for word in words]
    return [
        {"token": word, "logprob": math.log(float(probability[1]) if probability else 0.99)}
        for word, probability in marked
    ]


def _add_alternatives(tokens: list[dict[str, Any]]) -> None:
    """Add what else the reply might have begun with: to Yes and No the other of the two, else nothing."""
    others = {"Yes": "No", "No": "Yes"}
    for token in tokens:
        alternatives = [{"token": token["token"], "logprob": token["logprob"]}]
        if token["token"] in others:
            left = 1 - math.exp(token["logprob"])
            alternatives.append({"token": others[token["token"]], "logprob": math.log(left)})
        token["top_logprobs"] = alternatives


class ScriptedReader:
    """A reader that finds the answers of a script, in order.

    :param script: For each reading the answers with their probabilities, the likeliest first; the last one is repeated.
        An answer is found in the first document that contains it or, if none does, in the first document.
    :param threshold: The least probability of a given answer.
    """

    probable = 0.5

    def __init__(self, script: list[list[tuple[str, float]]], threshold: float = 0.6):
        self.script = script
        self.threshold = threshold

    def to_dict(self) -> dict[str, Any]:
        return default_to_dict(self, script=self.script, threshold=self.threshold)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> ScriptedReader:
        return default_from_dict(cls, data)

    def read(self, question: str, documents: Sequence[Document]) -> list[Candidate]:
        with _lock:
            calls = CALLS.setdefault("reader", [])
            calls.append({"question": question, "titles": [document.meta["title"] for document in documents]})
            answers = self.script[min(len(calls), len(self.script)) - 1]
        if not documents:
            return []
        return [_candidate(text, probability, documents) for text, probability in answers]

    async def read_async(self, question: str, documents: Sequence[Document]) -> list[Candidate]:
        return self.read(question, documents)

    def judge(self, question: str, documents: Sequence[Document], answer: str) -> Judgement:
        return Judgement(max((probability for text, probability in self.script[-1] if text == answer), default=0.0))

    async def judge_async(self, question: str, documents: Sequence[Document], answer: str) -> Judgement:
        return self.judge(question, documents, answer)


class FixedQuestionClassifier:
    """Gives the same classes to every question.

    :param probabilities: The probability of each class that it knows.
    :param doubt: Why the probabilities are only a guess.
    """

    def __init__(self, probabilities: dict[str, float], doubt: str = ""):
        self.probabilities = probabilities
        self.doubt = doubt

    def to_dict(self) -> dict[str, Any]:
        return default_to_dict(self, probabilities=self.probabilities, doubt=self.doubt)

    def warm_up(self) -> None:
        pass

    def classify(self, question: str) -> Estimate:
        return Estimate(self.probabilities, self.doubt)

    async def classify_async(self, question: str) -> Estimate:
        return self.classify(question)


def _candidate(text: str, probability: float, documents: Sequence[Document]) -> Candidate:
    document = next((document for document in documents if text in (document.content or "")), documents[0])
    return Candidate(text, "span", document, document.content or "", probability)


@component
class ScriptedRetriever:
    """Finds the documents whose key is a word of the query.

    :param documents: Texts by key; the title is the key.
    :param name: The name under which :data:`CALLS` keeps the queries.
    :param error: Raised at every call, if given.
    :param together_with: Retrievers that must be asked as often before this one answers; asked in turn, it fails.
    """

    def __init__(
        self, documents: dict[str, str], name: str, error: str | None = None, together_with: list[str] | None = None
    ):
        self.documents = documents
        self.name = name
        self.error = error
        self.together_with = together_with

    def to_dict(self) -> dict[str, Any]:
        return default_to_dict(
            self, documents=self.documents, name=self.name, error=self.error, together_with=self.together_with
        )

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> ScriptedRetriever:
        return default_from_dict(cls, data)

    @component.output_types(documents=list[Document])
    def run(self, query: str, top_k: int = 10, filters: dict[str, Any] | None = None) -> dict[str, Any]:
        with _lock:
            CALLS.setdefault(self.name, []).append({"query": query, "top_k": top_k, "filters": filters})
        if self.error:
            raise ConnectionError(self.error)
        words = set(re.findall(r"\w+", query.lower()))
        documents = [
            Document(id=f"{self.name}-{key}", content=text, meta={"title": key}, score=1.0)
            for key, text in self.documents.items()
            if key.lower() in words
        ]
        return {"documents": documents[:top_k]}

    @component.output_types(documents=list[Document])
    async def run_async(self, query: str, top_k: int = 10, filters: dict[str, Any] | None = None) -> dict[str, Any]:
        output = self.run(query, top_k, filters)
        asked = len(CALLS[self.name])
        async with asyncio.timeout(2):
            while any(len(CALLS.get(name, ())) < asked for name in self.together_with or ()):
                await asyncio.sleep(0)
        return output


@component
class ScriptedEmbedder:
    """Embeds every text as the same vector.

    :param model_host: Where it claims to run.
    """

    def __init__(self, model_host: str = "localhost"):
        self.model_host = model_host

    def to_dict(self) -> dict[str, Any]:
        return default_to_dict(self, model_host=self.model_host)

    @component.output_types(embedding=list[float])
    def run(self, text: str) -> dict[str, Any]:
        return {"embedding": [1.0]}


@component
class ScriptedVectorRetriever:
    """Find one document for any vector."""

    @component.output_types(documents=list[Document])
    def run(self, query_embedding: list[float], top_k: int | None = None, filters: Any = None) -> dict[str, Any]:
        return {"documents": [Document(id="near", content="Near.", meta={"title": "near"})]}
