"""Runs in which a source delivers hostile passages to models that behave, that quote them, or that believe them."""

from __future__ import annotations

import asyncio
import json
import re
import unicodedata
from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from haystack import Document, component, default_from_dict, default_to_dict
from haystack.dataclasses import ChatMessage, ToolCall
from markdown_it import MarkdownIt

from prefrag import pipelines
from prefrag.components.generators.json_reply import repair
from prefrag.components.state.state import Event
from prefrag.components.text.unicode_form import normalize_unicode
from prefrag.server.chat.chat_text import write_content, write_step
from prefrag.server.chat.open_webui import EventChat
from prefrag.server.public_result import Installation
from tests.fakes import CALLS
from tests.hostile import CONTROL_TOKENS, find_faults
from tests.hostile_passages import HARMLESS, Passage
from tests.marks import put_codes
from tests.own_prompts import write_prompts
from tests.pipelines.replies import Answer, Search, read_message, write_reply
from tests.pipelines.scripted import MODEL_JUDGE, retry_policy, verdict

QUESTION = "Which prize did the yard that built alpha win after delta?"
ALPHA = Document(id="local-alpha", content="Alpha was built by Beta.", meta={"title": "alpha"})
FORMS = ("text", "json", "tools")
# Each pipeline and format, with each source that can deliver a passage to it.
WAYS = [(f"prefrag {form}", source) for form in FORMS for source in ("web", "local")]
WAYS += [("mspr text", "web"), ("mspr text", "local"), ("dr_rag_qdc text", "local"), ("self_rag text", "local")]
MODELS = ("behaves", "quotes", "believes")
# The third is a user's own folder of prompts.
MODES = ("product", "plain", "own")
REACHED = ("action", "label", "verdict", "citation", "renderer", "prompt")

_MARK = re.compile(r"[\[\u3010\uff3b(]\s*(?:passage )?[ADW]?\d+(?:-?[a-z]{2})?\s*[\]\u3011\uff3d)]", re.IGNORECASE)
_HEADED = re.compile(r"^((?:[A-Z][A-Za-z ]+: )?(?:\[[ADW]?\d+[a-z]{2}\]|Title:|title:)) (.*)", re.MULTILINE)
_CODE = re.compile(r"(\[[ADW]?\d+)[a-z]{2}\]")
# The passages that sources deliver, and the replies of models. Pipelines are loaded once, as their parts keep no state.
_delivered: dict[str, list[Document]] = {}
_scripts: dict[str, list[dict[str, Any]]] = {}


@component
class Delivery:
    """Finds alpha in the local source, and for delta the passages to be delivered.

    :param name: The name of the source.
    """

    def __init__(self, name: str):
        self.name = name

    def to_dict(self) -> dict[str, Any]:
        return default_to_dict(self, name=self.name)

    @component.output_types(documents=list[Document])
    def run(self, query: str, top_k: int = 10) -> dict[str, Any]:
        alpha = [ALPHA] if self.name == "local" and "alpha" in query else []
        return {"documents": (alpha + (_delivered.get(self.name, []) if "delta" in query else []))[:top_k]}


@component
class Reader:
    """Replies from a script, where QUOTED stands for all passages of the prompt.

    A reply `to` a text is given whenever the prompt contains that text, because calls in threads come in any order.

    :param name: The name of the script.
    """

    model_host, context_window = "localhost", 1_000_000
    # One server for all, so that the judge continues the reasoner's conversation if it can.
    served_by = "one"

    def __init__(self, name: str):
        self.name = name

    def to_dict(self) -> dict[str, Any]:
        return default_to_dict(self, name=self.name)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Reader:
        return default_from_dict(cls, data)

    @component.output_types(replies=list[ChatMessage])
    def run(self, messages: list[ChatMessage], generation_kwargs: Any = None, tools: Any = None) -> dict[str, Any]:
        calls = CALLS.setdefault(self.name, [])
        prompt = "\n".join(map(read_message, messages))
        arguments = [str(call.arguments) for message in messages for call in message.tool_calls]
        calls.append("\n".join([prompt, *arguments]))
        script = _scripts[self.name]
        asked = [reply for reply in script if "to" in reply and reply["to"] in prompt]
        reply = asked[0] if asked else script[min(len(calls), len(script)) - 1]
        text = (reply.get("text") or "").replace("QUOTED", _quote(prompt))
        called = [ToolCall(name, arguments, id="x") for name, arguments in reply.get("calls", [])]
        return {"replies": [ChatMessage.from_assistant(put_codes(text, prompt) or None, tool_calls=called)]}


def _quote(prompt: str) -> str:
    """Quote the passages of a prompt, first in one line and then as they are."""
    lines = prompt.split("\n")
    heads = [(head, text) for line, text in pairwise([*lines, ""]) if (head := _HEADED.match(line))]
    # In a user's own prompts, the text may stand beside the title. No model quotes more of a line.
    titles = [head[2][:2_000] for head, text in heads if text.startswith("| ") or head[1].endswith("title:")]
    quoted = [line[:2_000] for line in lines if line.startswith("| ")]
    in_line = " ".join(line.removeprefix("| ") for line in [*titles, *quoted])
    return "\n".join([f'A passage says "{in_line}", which I leave aside.', *quoted, ""])


def run_hostile(way: str, source: str, model: str, passages: Sequence[Passage], mode: str = "product") -> set[str]:
    """List what the passages influenced although they must not.

    :param way: A pipeline and its reply format, see :data:`WAYS`.
    :param source: The source that delivers the passages.
    :param model: One of :data:`MODELS`.
    :param passages: The passages, delivered together.
    :param mode: One of :data:`MODES`.
    :returns: Some of :data:`REACHED`.
    """
    result, prompts = _run(way, source, model, passages, mode)
    reached = {"renderer"} if not _is_harmless(way, mode, result) else set()
    if any(token in prompt for prompt in prompts for token in CONTROL_TOKENS):
        reached.add("prompt")
    if model == "believes":
        own = [normalize_unicode(repair(str(passage.text))) for passage in passages]
        cited = {citation["mark"] for citation in result["citations"]}
        cited_documents = [document for document in result["documents"] if document["mark"] in cited]
        if any(document["source"] != source or document["content"] not in own for document in cited_documents):
            reached.add("citation")
        return reached
    expected, harmless = _expect(way, source, model, len(passages), mode)
    reached |= {name for name, value in _outcome(result).items() if value != expected[name]}
    if model == "behaves" and (sorted(map(_skeleton, prompts)) != harmless or _find_faults(prompts)):
        reached.add("prompt")
    return reached


@cache
def _expect(way: str, source: str, model: str, number: int, mode: str) -> tuple[dict[str, Any], list[str]]:
    harmless = [Passage(f"{HARMLESS.text} {place}", HARMLESS.title) for place in range(number)]
    result, prompts = _run(way, source, model, harmless, mode)
    assert len(result["documents"]) == number + 1, result["errors"]
    return _outcome(result), sorted(map(_skeleton, prompts))


def _run(way: str, source: str, model: str, passages: Sequence[Passage], mode: str) -> tuple[dict[str, Any], list[str]]:
    CALLS.clear()
    _delivered.clear()
    _delivered[source] = [passage.document(number) for number, passage in enumerate(passages)]
    _scripts.clear()
    _scripts.update(_write_scripts(*way.split(), source, model, passages))
    result = asyncio.run(pipelines.ask_async(_load(way, mode), QUESTION, top_k=12))
    return result, [prompt for name in _scripts for prompt in CALLS.get(name, ())]


@cache
def _own_prompts() -> str:
    return write_prompts(Path(mkdtemp(prefix="own-prompts-")))


@cache
def _load(way: str, mode: str) -> Any:
    name, form = way.split()
    block = "tests.pipelines.hostile_runs"
    reader = {
        who: {"type": f"{block}.Reader", "init_parameters": {"name": who}} for who in ("model", "judge", "reviewer")
    }
    delivery = {who: {"type": f"{block}.Delivery", "init_parameters": {"name": who}} for who in ("local", "web")}
    replace: dict[str, Any] = {
        "ChatModel": reader["model"],
        "start.prompts": _own_prompts() if mode == "own" else mode,
        "Reasoner.reply_format": form,
        "RetrievalSource.ranker": None,
        "RetrievalSource.retry_policy": retry_policy(),
        "local.retriever": delivery["local"],
    }
    if name == "dr_rag_qdc":
        return pipelines.load(name, replace | {"second_stage.source.retriever": delivery["local"]})
    if name == "self_rag":
        return pipelines.load(name, replace)
    judge = {"type": MODEL_JUDGE, "init_parameters": {"chat_generator": reader["judge"]}}
    replace |= {"web.retriever": delivery["web"], "judge.judge": judge}
    if name == "prefrag":
        # Whether passages suffice depends on their words, whoever wrote them. Here the judge alone decides.
        replace["judge.sufficiency"] = None
    if name == "mspr":
        replace |= {"reviewer.chat_generator": reader["reviewer"], "refiner.enabled": False}
    return pipelines.load(name, replace)


def _write_scripts(
    name: str, form: str, source: str, model: str, passages: Sequence[Passage]
) -> dict[str, list[dict[str, Any]]]:
    text = "1974 [[1]]"
    if model == "believes":
        raw = " ".join(" ".join(f"{passage.title} {passage.text}" for passage in passages).split())[:3_000]
        text = f"1666 [1] {' '.join(_MARK.findall(raw)[:400])} {raw}"
    local, web = ("Search_Local", "Search_Web") if name == "mspr" else ("Search_Engine", "Search_Engine")
    label, doubt = ("CORRECT", "INCORRECT") if name == "prefrag" else (None, None)
    steps: list[Search | Answer] = [
        Search("alpha", local),
        Search("delta", web if source == "web" else local),
        Answer("1912", doubt),
        Answer(text, label),
    ]
    if model == "believes":
        del steps[2]
    replies = [write_reply(step, form) for step in steps]
    if name == "dr_rag_qdc":
        replies = [{"text": f"Final Answer: {text}" if model == "quotes" else text}]
    if name == "self_rag":
        good = {"relevance": "relevant", "answer": text.removesuffix(" [[1]]"), "support": "fully", "usefulness": 5}
        poor = {"relevance": "irrelevant", "answer": "1912", "support": "none", "usefulness": 1}
        of_alpha, of_others = (poor, good) if model == "believes" else (good, poor)
        replies = [{"text": json.dumps(of_alpha), "to": ALPHA.content}, {"text": json.dumps(of_others), "to": ""}]
    review = {"effectiveness": "a", "completeness": "b", "correctness": "c"}
    doubts = (True,) if model == "believes" else (False, True)
    scripts = {
        "model": replies,
        "judge": [{"text": verdict(source == "local")}],
        "reviewer": [{"text": json.dumps({**review, "label": str(passed)})} for passed in doubts],
    }
    if model == "quotes":
        for script in scripts.values():
            for reply in script:
                reply["text"] = f"QUOTED{reply.get('text') or ''}"
    return scripts


def _outcome(result: dict[str, Any]) -> dict[str, Any]:
    steps, trace = result["steps"], result["trace"]
    return {
        "action": [(step["action"], step["query"], step["searched"], step["source"]) for step in steps],
        "label": [result["label"], *(step["label"] for step in steps)],
        "verdict": [step["verdict"] and step["verdict"]["status"] for step in steps]
        + [event["status"] for event in trace if event["kind"] == "review"],
        "citation": [result["answer"], result["citations"]],
    }


def _skeleton(prompt: str) -> str:
    """Remove the quoted lines and titles from a prompt; no passage may change the rest."""
    lines = "\n".join(line for line in prompt.split("\n") if not line.startswith("| "))
    return _CODE.sub(r"\1]", _HEADED.sub(r"\1", lines))


def _find_faults(prompts: Sequence[str]) -> list[str]:
    quoted = (line for prompt in prompts for line in prompt.splitlines() if line.startswith("| "))
    titles = (head[2] for prompt in prompts for head in _HEADED.finditer(prompt))
    return [fault for text in (*quoted, *titles) for fault in find_faults(text)]


def _is_harmless(way: str, mode: str, result: dict[str, Any]) -> bool:
    public = _installation(way, mode).publish(result)
    try:
        json.dumps(public, ensure_ascii=False, allow_nan=False).encode()
    except ValueError:
        return False
    events = (Event(event["kind"], event["step"], event) for event in public["trace"])
    shown = [write_content(public, cites=True, marks={}), "\n".join(write_step(event, {}) for event in events)]
    fields = list(EventChat({}, 0, cites=True).write_end(public))
    sent = [field["event"]["data"] for field in fields if "event" in field]
    shown += [field["content"] for field in fields if "content" in field]
    shown += [text for data in sent for text in (*data.get("document", ()), data.get("description", ""))]
    urls = [document["url"] for document in public["documents"]]
    return not any(map(_draws, shown)) and all(url == "" or url.startswith(("http://", "https://")) for url in urls)


@cache
def _installation(way: str, mode: str) -> Installation:
    return Installation(_load(way, mode))


def _draws(text: str) -> bool:
    """Check whether a Markdown renderer would load, run or hide anything, or lose the list of sources."""
    tokens = [part for token in MarkdownIt().enable("table").parse(text) for part in (token, *(token.children or ()))]
    kinds = {token.type for token in tokens}
    drawn = {token.info for token in tokens if token.type == "fence" and token.info.startswith(("html", "svg"))}
    invisible = any(unicodedata.category(sign) in ("Cc", "Cs") and sign not in "\n\t" for sign in text)
    return bool(kinds & {"image", "html_inline", "html_block", "link_open"} or drawn or invisible)
