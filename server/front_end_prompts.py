"""Recognise what a front end wrote in the place of a person: the prompts of its own tasks, and attached files.

Open WebUI, LibreChat and others have the model of the chat write titles, tags, next questions and search queries, and
put the texts of attached files around a question. All of it arrives as a message of the user.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

_TEMPLATE = "### task:"
_HISTORY, _CONTEXT, _CONTEXT_END = "<chat_history>", "<context>", "</context>"
_QUERY, _QUERY_END = "<user_query>", "</user_query>"
# The beginning of a prompt, and what else has to stand in it, in small letters.
_TASKS: tuple[tuple[str, ...], ...] = (
    # Open WebUI; its templates of today are recognised by their form.
    ("create a concise, 3-5 word title", _HISTORY),
    ("here is the query:", "as a title for the previous query"),
    ("you are tasked with generating web search queries", "only the query"),
    ("your task is to reflect the speaker's likely facial expression",),
    ("you have been provided with a set of responses from various models",),
    ("### task:\nsummarize the conversation history", "### messages being compacted:"),
    ("available tools:", "choose and return the correct tool(s)"),
    # LibreChat.
    ("analyze this conversation and provide:", "concise title"),
    ("provide a concise, 5-word-or-less title for the conversation",),
    ("please generate a concise title", "for a conversation that starts with"),
    ("summarize the conversation by integrating new lines into the current summary",),
    # LobeChat, in its two languages.
    ("you are a professional conversation summarizer", "title"),
    ("你是一名擅长会话的助理", "标题"),
    # Goose.
    ("generate a short title", "only the title"),
)
# What a task that wants JSON gets without a model, by the key that its prompt names.
_EMPTY = {
    "title": '{"title": ""}',
    "tags": '{"tags": []}',
    "follow_ups": '{"follow_ups": []}',
    "queries": '{"queries": []}',
    "tool_calls": '{"tool_calls": []}',
    "prompt": '{"prompt": ""}',
    "text": '{"text": ""}',
}
# Names and numbers of attached files, for tools that read them, before the question.
_FILE_TAGS = re.compile(r"\A\s{0,9}<attached_files>\n(?:<file [^\n]{0,4000}/>\n)*+</attached_files>\s*+")
# What Open WebUI writes into the system message about its tools.
_TOOLS = ("available_skills", "available_tools", "attached_knowledge")
_SOURCE = re.compile(r"<source\b([^<>\n]{0,1000})>")
_ID = re.compile(r'(?<![\w-])id="([^"]*)"')
_NAME = re.compile(r'(?<![\w-])name="([^"]*)"')
# Open WebUI before 0.6 wrote the number inside.
_INNER_ID = re.compile(r"\s{0,9}<source_id>([^<]{0,300})</source_id>\s{0,9}(?:<source_context>)?")


class Attachment(NamedTuple):
    """A text that a front end attached to a question."""

    mark: str
    title: str
    content: str


def find_task(messages: Sequence[Mapping[str, Any]], metadata: Any = None) -> str | None:
    """Recognise a task that a front end has for the model, which is no question to the documents."""
    asked = next((str(one["content"]) for one in reversed(messages) if one.get("role") == "user"), "")
    named = isinstance(metadata, Mapping) and bool(metadata.get("task"))
    prompts = [asked, *(str(one["content"]) for one in messages if one.get("role") == "system")]
    prompt = next((prompt for prompt in prompts if _is_task(prompt.strip().casefold())), asked if named else None)
    if prompt is None:
        return None
    instructions = prompt.partition(_HISTORY)[0]
    return next((reply for key, reply in _EMPTY.items() if f'"{key}"' in instructions), "")


def _is_task(prompt: str) -> bool:
    if any(prompt.startswith(beginning) and all(part in prompt for part in parts) for beginning, *parts in _TASKS):
        return True
    # The chat and the files may hold anything, so the tag that comes first decides.
    history, context = prompt.find(_HISTORY), prompt.find(f"\n{_CONTEXT}")
    return prompt.startswith(_TEMPLATE) and history >= 0 and not 0 <= context < history


def take_apart(text: str) -> tuple[str, list[Attachment]]:
    """Separate a question from the files that a front end put around it."""
    text = _FILE_TAGS.sub("", text)
    start, end = text.find(f"\n{_CONTEXT}"), text.rfind(_CONTEXT_END)
    if start < 0 or end < start:
        return text, []
    context = text[start + len(_CONTEXT) + 1 : end]
    before, after = text[:start], text[end + len(_CONTEXT_END) :]
    template = max(before.casefold().rfind(_TEMPLATE), before.rfind("Use the following context"))
    attached = _read_sources(context)
    if not attached and template < 0:
        # A person may write such a tag.
        return text, []
    opening, query, rest = after.partition(_QUERY)
    if query:
        question = rest.rpartition(_QUERY_END)[0] or rest
    elif "\nQuery: " in opening:
        question = opening.rpartition("\nQuery: ")[2]
    else:
        question = opening
    # Some versions put the template behind the question.
    question = question.strip() or before[: max(template, 0)].strip()
    return _FILE_TAGS.sub("", question), attached or [Attachment("", "", context.strip())]


def drop_tools(text: str) -> str:
    """Remove from a system message what it says about tools, which this service does not call."""
    for name in _TOOLS:
        before, _, rest = text.partition(f"<{name}>")
        _, end, after = rest.partition(f"</{name}>")
        text = before + after if end else text
    return text.strip()


def _read_sources(context: str) -> list[Attachment]:
    tags = list(_SOURCE.finditer(context))
    ends = [tag.start() for tag in tags[1:]] + [len(context)] * bool(tags)
    attached = []
    for tag, end in zip(tags, ends, strict=True):
        content = _before(context[tag.end() : end], "</source>")
        mark, name = _ID.search(tag[1]), _NAME.search(tag[1])
        if mark is None and (mark := _INNER_ID.match(content)):
            content = _before(content[mark.end() :], "</source_context>")
        number = mark[1] if mark else ""
        title = name[1] if name else number
        attached.append(Attachment(number, "" if title.isdecimal() else title, content.strip()))
    # An empty one counts, because the front end numbers it.
    return attached if any(each.content for each in attached) else []


def _before(text: str, closing: str) -> str:
    inside, found, _ = text.rpartition(closing)
    return inside if found else text
