"""Recognise what a front end writes in the user's name: the prompts of its own tasks, and attached files.

Front ends such as Open WebUI and LibreChat ask the chat's model for titles, tags, follow-up questions and search
queries. They also put the texts of attached files around a question. All of this arrives as messages of the user.
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from prefrag.components.state.request_limits import MAX_QUESTION_CHARACTERS
from prefrag.components.text.sentences import cut_text
from prefrag.components.web.query_origin import is_question

# The beginning of Open WebUI's template for a question with files, in small letters.
_TEMPLATE = "### task:"
_CONTEXT, _CONTEXT_END = "<context>", "</context>"
_QUERY, _QUERY_END = "<user_query>", "</user_query>"
# The JSON example in a task's prompt, with the group `list` if its value is a list. An example inside a list does not
# match, because it may be a message of a quoted conversation.
_SHAPE = re.compile(
    r"""
    (?<!\[) (?<!\[\s) (?<!,) (?<!,\s)       # not inside a list
    \{{1,2} \s{0,20}                        # some prompts write {{ for {
    "(?P<key>\w{1,40})" \s{0,9} : \s{0,9} (?P<list>\[)?
    """,
    re.VERBOSE,
)
# The beginning of a turn in a quoted conversation.
_TURN = re.compile(
    r"""
    ^ \W{0,9} (?:user|human|person|assistant|ai|bot) \b \W{0,3} [:\uff1a|\]>]      # "USER:", "**Assistant**:", "[bot]"
    | "role" \s? :                                                              # a message in JSON
    | </? (?:chat|conv|hist) \w* >                                              # <chat_history>
    """,
    re.IGNORECASE | re.MULTILINE | re.VERBOSE,
)
# Words for "title" in several languages, because some prompts that ask for titles show no JSON.
_TITLE = re.compile(
    r"(?i)titl|titre|titel|título|titolo|tytuł|заголов|عنوان|शीर्षक|标题|標題|題名|タイトル|제목|\bname\b|benenn"
)
# The beginning of a turn of a speaker with any name, and what the speaker says.
_SAID = re.compile(
    r"""
    ^ (?: \W{0,9} [^\W_] [^:\uff1a\n{}]{0,24} [:\uff1a] | < [^<>\n]{1,30} > )      # "Ada:" or "<ada>"
    [^\S\n]* ( [^\s<{"] [^\n<]* )
    """,
    re.MULTILINE | re.VERBOSE,
)
# A list of attached files that some front ends put before the question, for tools that read files.
_FILE_TAGS = re.compile(r"\A\s{0,9}<attached_files>\n(?:<file [^\n]{0,4000}/>\n)*+</attached_files>\s*+")
# Open WebUI adds texts about its tools to the system message, between these tags.
_TOOLS = ("available_skills", "available_tools", "attached_knowledge")
# A tag at the beginning of a line.
_LINE_TAG = re.compile(r"(?m)^<([\w-]{1,40})>")
_SOURCE = re.compile(r"<source\b([^<>\n]{0,1000})>")
_ID = re.compile(r'(?<![\w-])id="([^"]*)"')
_NAME = re.compile(r'(?<![\w-])name="([^"]*)"')
# Before version 0.6, Open WebUI wrote the file's number as an element inside `<source>`, not as an attribute.
_INNER_ID = re.compile(r"\s{0,9}<source_id>([^<]{0,300})</source_id>\s{0,9}(?:<source_context>)?")


class Attachment(NamedTuple):
    """A text that a front end attached to a question."""

    mark: str  # the number that the front end gives to the file; may be empty
    title: str
    content: str


def find_task(messages: Sequence[Mapping[str, object]], metadata: object = None) -> bool:
    """Check whether the last message is a front end's task for the model.

    Either the metadata says so, or the message quotes a conversation of at least two turns, and asks for JSON or a
    title. If nothing stands before the conversation, a system message counts as such a request. Everything else is a
    question.
    """
    if isinstance(metadata, Mapping) and metadata.get("task"):
        return True
    asked = _last_asked(messages)
    turns = list(_TURN.finditer(asked))
    if len(turns) < 2:
        return False
    before = asked[: turns[0].start()]
    if _SHAPE.search(asked) or _TITLE.search(before):
        return True
    last_line = asked.rstrip().rpartition("\n")[2]
    # A request may also stand in the last line, if no turn begins there.
    is_below_turns = turns[-1].end() < len(asked) - len(last_line)
    if is_below_turns and _TITLE.search(last_line):
        return True
    return not before.strip() and _has_system(messages)


def answer_without_model(messages: Sequence[Mapping[str, object]], name: str) -> str:
    """Answer a task without a model: with the conversation's first words if a title is wanted, else with nothing.

    A question is answered with the name of the pipeline that answers questions.
    """
    asked = _last_asked(messages)
    shape = _SHAPE.search(asked)
    if shape:
        title = _first_words(asked) if _TITLE.search(shape["key"]) else ""
        value = [] if shape["list"] else title
        return json.dumps({shape["key"]: value}, ensure_ascii=False)
    if is_question(asked[:MAX_QUESTION_CHARACTERS], _has_system(messages)):
        return f"This model only does tasks of front ends, such as titles. Ask {name}, which searches your documents."
    return _first_words(asked)


def _has_system(messages: Sequence[Mapping[str, object]]) -> bool:
    return any(message.get("role") in ("system", "developer") and message.get("content") for message in messages)


def _last_asked(messages: Sequence[Mapping[str, object]]) -> str:
    """Return the last message of the user, without attached files."""
    contents = (str(message["content"]) for message in reversed(messages) if message.get("role") == "user")
    question, _ = separate_attachments(next(contents, ""))
    return question


def _first_words(asked: str) -> str:
    """Return the first words that somebody says in the quoted conversation."""
    try:
        # The conversation may be a JSON list of messages. What is said is the longest field of a message.
        conversation, _ = json.JSONDecoder().raw_decode(asked, asked.index("[{"))
        spoken = max(map(str, conversation[0].values()), key=len)
    except (ValueError, RecursionError):
        turn = _TURN.search(asked)
        turns = asked[turn.start() :] if turn else asked
        said = _SAID.search(turns)
        # Without a speaker that is recognised, the longest line is most likely something that somebody says.
        spoken = said[1] if said else max(turns.splitlines(), key=len, default="")
    return cut_text(" ".join(spoken.split()[:6]), 60)


def separate_attachments(text: str) -> tuple[str, list[Attachment]]:
    """Separate a question from the texts of files that a front end put around the question."""
    text = _FILE_TAGS.sub("", text)
    opening_tag = f"\n{_CONTEXT}"
    start, end = text.find(opening_tag), text.rfind(_CONTEXT_END)
    if start < 0 or end < start:
        return text, []
    if any(text.rfind(f"</{tag}>") > end for tag in _LINE_TAG.findall(text[:start])):
        # The context stands between two other tags, so it belongs to a conversation that a task quotes.
        return text, []
    context = text[start + len(opening_tag) : end]
    before, after = text[:start], text[end + len(_CONTEXT_END) :]
    # Where the prompt template begins, newer or older; -1 without one.
    template = max(before.casefold().rfind(_TEMPLATE), before.rfind("Use the following context"))
    attached = _read_sources(context)
    if not attached and template < 0:
        # The user has typed `<context>`, and no front end.
        return text, []
    opening, query, rest = after.partition(_QUERY)
    if query:
        question = rest.rpartition(_QUERY_END)[0] or rest
    elif "\nQuery: " in opening:
        question = opening.rpartition("\nQuery: ")[2]
    else:
        question = opening
    question = question.strip()
    if not question and template > 0:
        # Some versions of Open WebUI put the question before the prompt template.
        question = before[:template].strip()
    return _FILE_TAGS.sub("", question), attached or [Attachment("", "", context.strip())]


def drop_tools(text: str) -> str:
    """Remove what a system message says about tools, because this service calls no tools."""
    for name in _TOOLS:
        before, _, rest = text.partition(f"<{name}>")
        _, closing_tag, after = rest.partition(f"</{name}>")
        if closing_tag:
            text = before + after
    return text.strip()


def _read_sources(context: str) -> list[Attachment]:
    tags = list(_SOURCE.finditer(context))
    if not tags:
        return []
    ends = [*(tag.start() for tag in tags[1:]), len(context)]
    attached = []
    for tag, end in zip(tags, ends, strict=True):
        content = _before(context[tag.end() : end], "</source>")
        mark = _ID.search(tag[1])
        if mark is None:
            mark = _INNER_ID.match(content)
            if mark:
                content = _before(content[mark.end() :], "</source_context>")
        number = mark[1] if mark else ""
        name = _NAME.search(tag[1])
        title = name[1] if name else number
        # A number is no title.
        attached.append(Attachment(number, "" if title.isdecimal() else title, content.strip()))
    # The front end numbers empty files too, so they stay in the list, unless all are empty.
    return attached if any(file.content for file in attached) else []


def _before(text: str, closing: str) -> str:
    """Return what stands before the last closing tag, or all of the text without one."""
    inside, separator, _ = text.rpartition(closing)
    return inside if separator else text
