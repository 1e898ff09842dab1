"""Recognise what a front end writes in the user's name: the prompts of its own tasks, and attached files.

A task is a request of the front end itself. Front ends such as Open WebUI and LibreChat ask the chat's model for
titles, tags, follow-up questions and search queries. Their prompts quote the conversation.

Front ends also put the texts of attached files around a question. Tasks and files arrive as messages of the user, so
only their form tells them apart from questions. `wrapper.py` and `conversation.py` use this module.
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from prefrag.components.state.request_limits import MAX_QUESTION_CHARACTERS
from prefrag.components.text.sentences import cut_text
from prefrag.components.web.question_in_message import is_question

# The beginning of Open WebUI's template for a question with files, in small letters.
_TEMPLATE = "### task:"
# The tag before the texts of the attached files.
_CONTEXT = "<context>"
# The tag after them.
_CONTEXT_END = "</context>"
# The tag before the user's question, in some prompt templates.
_QUERY = "<user_query>"
# The tag after it.
_QUERY_END = "</user_query>"
# The example of a JSON reply in a task's prompt, such as '{"title": "x"}' or '{"tags": ["x"]}'. The group `key` is its
# first key. The group `list` matches if the value is a list. '[{"role": "user"}]' does not match: an example inside a
# list may be a message of a quoted conversation.
_SHAPE = re.compile(
    r"""
    (?<!\[) (?<!\[\s) (?<!,) (?<!,\s)       # not inside a list
    \{{1,2} \s{0,20}                        # some prompts write {{ for {
    "(?P<key>\w{1,40})" \s{0,9} : \s{0,9} (?P<list>\[)?
    """,
    re.VERBOSE,
)
# The beginning of a turn in a quoted conversation. "Ada: hello" does not match, because the name is not one of these.
_TURN = re.compile(
    r"""
    ^ \W{0,9} (?:user|human|person|assistant|ai|bot) \b \W{0,3} [:\uff1a|\]>]      # "USER:", "**Assistant**:", "[bot]"
    | "role" \s? :                                                              # a message in JSON
    | </? (?:chat|conv|hist) \w* >                                              # <chat_history>
    """,
    re.IGNORECASE | re.MULTILINE | re.VERBOSE,
)
# Words for "title" in several languages, such as "titre" in French. Some prompts that ask for titles show no JSON.
_TITLE = re.compile(
    r"(?i)titl|titre|titel|título|titolo|tytuł|заголов|عنوان|शीर्षक|标题|標題|題名|タイトル|제목|\bname\b|benenn"
)
# A turn of a speaker with any name. Group 1 is what the speaker says on that line. In "Ada: What is it?", the group is
# "What is it?".
_SAID = re.compile(
    r"""
    ^ (?: \W{0,9} [^\W_] [^:\uff1a\n{}]{0,24} [:\uff1a] | < [^<>\n]{1,30} > )      # "Ada:" or "<ada>"
    [^\S\n]* ( [^\s<{"] [^\n<]* )
    """,
    re.MULTILINE | re.VERBOSE,
)
# A list of attached files that some front ends put before the question, for tools that read files. It begins with
# "<attached_files>", has a line such as '<file id="1"/>' for each file, and ends with "</attached_files>".
_FILE_TAGS = re.compile(r"\A\s{0,9}<attached_files>\n(?:<file [^\n]{0,4000}/>\n)*+</attached_files>\s*+")
# Open WebUI adds texts about its tools to the system message, between these tags.
_TOOLS = ("available_skills", "available_tools", "attached_knowledge")
# A tag without attributes at the beginning of a line, such as "<context>". Group 1 is its name.
_LINE_TAG = re.compile(r"(?m)^<([\w-]{1,40})>")
# The tag before the text of a file, such as '<source id="1" name="a.pdf">'. Group 1 has the attributes.
_SOURCE = re.compile(r"<source\b([^<>\n]{0,1000})>")
# The number of a file among those attributes, as in 'id="1"'.
_ID = re.compile(r'(?<![\w-])id="([^"]*)"')
# The name of a file among those attributes, as in 'name="a.pdf"'.
_NAME = re.compile(r'(?<![\w-])name="([^"]*)"')
# Before version 0.6, Open WebUI wrote the number of a file as an element inside `<source>`, not as an attribute:
# "<source_id>1</source_id><source_context>". Group 1 is the number.
_INNER_ID = re.compile(r"\s{0,9}<source_id>([^<]{0,300})</source_id>\s{0,9}(?:<source_context>)?")


class Attachment(NamedTuple):
    """A text that a front end attached to a question."""

    # The number that the front end gives to the file, as a text such as "1". Empty if there is none.
    mark: str
    # The name of the file. Empty if the front end does not tell it.
    title: str
    # The text of the file.
    content: str


def find_task(messages: Sequence[Mapping[str, object]], metadata: object = None) -> bool:
    """Check whether the last message is a front end's task for the model, and not a question of the user.

    The message is a task in each of these cases:

    - The metadata says so.
    - The message quotes a conversation of at least two turns, and asks for JSON or for a title.
    - The message only quotes such a conversation, and there is a system message. The system message is the request.

    :param messages: The messages, oldest first.
    :param metadata: The field `metadata` of the request. In a task of Open WebUI, it has an entry `task`.
    """
    if isinstance(metadata, Mapping) and metadata.get("task"):
        return True

    message = _last_message(messages)
    turns = list(_TURN.finditer(message))
    if len(turns) < 2:
        return False

    before = message[: turns[0].start()]
    if _SHAPE.search(message) or _TITLE.search(before):
        return True

    _, _, last_line = message.rstrip().rpartition("\n")
    # The request may also stand in the last line, if no turn begins there.
    is_below_turns = turns[-1].end() < len(message) - len(last_line)
    if is_below_turns and _TITLE.search(last_line):
        return True

    return not before.strip() and _has_system(messages)


def answer_without_model(messages: Sequence[Mapping[str, object]], name: str) -> str:
    """Answer a front end's task without a model.

    If the task asks for JSON, the reply is JSON. A title becomes the first words of the conversation, and everything
    else is empty. A task that does not ask for JSON gets the first words too. A question is answered with the name of
    the pipeline that answers questions.

    :param messages: The messages, oldest first.
    :param name: The name of the pipeline that answers questions.
    """
    message = _last_message(messages)
    shape = _SHAPE.search(message)
    if shape:
        title = _first_words(message) if _TITLE.search(shape["key"]) else ""
        value = [] if shape["list"] else title
        return json.dumps({shape["key"]: value}, ensure_ascii=False)

    if is_question(message[:MAX_QUESTION_CHARACTERS], _has_system(messages)):
        return f"This model only does tasks of front ends, such as titles. Ask {name}, which searches your documents."
    return _first_words(message)


def _has_system(messages: Sequence[Mapping[str, object]]) -> bool:
    """Check whether there is a system message with a content."""
    return any(message.get("role") in ("system", "developer") and message.get("content") for message in messages)


def _last_message(messages: Sequence[Mapping[str, object]]) -> str:
    """Return the last message of the user, without attached files. Empty if there is none."""
    for message in reversed(messages):
        if message.get("role") == "user":
            question, _ = separate_attachments(str(message["content"]))
            return question
    return ""


def _first_words(message: str) -> str:
    r"""Return the first words that somebody says in the quoted conversation: at most 6 words and 60 characters.

    For example, ``"Write a title.\nUSER: Who was Ada?"`` gives ``"Who was Ada?"``.
    """
    try:
        # The conversation may be a JSON list of messages. What somebody says is the longest field of a message.
        conversation, _ = json.JSONDecoder().raw_decode(message, message.index("[{"))
        utterance = max(map(str, conversation[0].values()), key=len)
    except (ValueError, RecursionError):
        first_turn = _TURN.search(message)
        turns = message[first_turn.start() :] if first_turn else message
        said = _SAID.search(turns)
        # If no speaker is recognised, the longest line is most likely something that somebody says.
        utterance = said[1] if said else max(turns.splitlines(), key=len, default="")
    first_words = utterance.split()[:6]
    return cut_text(" ".join(first_words), 60)


def separate_attachments(text: str) -> tuple[str, list[Attachment]]:
    """Separate a question from the texts of files that a front end has put around the question.

    :param text: The message of the user, as it arrived.
    :returns: The question, and the attached files in the order of the front end. If no front end has added files, the
        message itself and an empty list.
    """
    text = _FILE_TAGS.sub("", text)
    opening_tag = f"\n{_CONTEXT}"
    start = text.find(opening_tag)
    end = text.rfind(_CONTEXT_END)
    if start < 0 or end < start:
        return text, []

    before = text[:start]
    if any(text.rfind(f"</{tag}>") > end for tag in _LINE_TAG.findall(before)):
        # The context stands between two other tags, so it belongs to a conversation that a task quotes.
        return text, []

    context = text[start + len(opening_tag) : end]
    after = text[end + len(_CONTEXT_END) :]
    # Where the prompt template begins. It has one beginning in newer versions of Open WebUI, and another in older ones.
    # The value is -1 if there is no template.
    template = max(before.casefold().rfind(_TEMPLATE), before.rfind("Use the following context"))
    attached = _read_sources(context)
    if not attached and template < 0:
        # The user has typed `<context>`. No front end has added it.
        return text, []

    question = _find_question(after)
    if not question and template > 0:
        # Some versions of Open WebUI put the question before the prompt template.
        question = before[:template].strip()
    if not attached:
        attached = [Attachment(mark="", title="", content=context.strip())]
    return _FILE_TAGS.sub("", question), attached


def _find_question(after_context: str) -> str:
    """Return the question in the text after the context. Without a sign of the prompt template, it is all of this."""
    before_tag, tag, after_tag = after_context.partition(_QUERY)
    if tag:
        question, _, _ = after_tag.rpartition(_QUERY_END)
        return (question or after_tag).strip()
    _, _, after_sign = before_tag.rpartition("\nQuery: ")
    return after_sign.strip()


def drop_tools(text: str) -> str:
    """Remove what a system message says about tools, because this service calls no tools.

    For example, ``drop_tools("Be brief. <available_tools>x</available_tools>")`` returns ``"Be brief."``.

    :param text: The system message.
    """
    for name in _TOOLS:
        before, _, rest = text.partition(f"<{name}>")
        _, closing_tag, after = rest.partition(f"</{name}>")
        if closing_tag:
            text = before + after
    return text.strip()


def _read_sources(context: str) -> list[Attachment]:
    """Read the files in a context. Return an empty list if it has no `<source>` tag, or if all files are empty."""
    tags = list(_SOURCE.finditer(context))
    if not tags:
        return []
    # Each file ends where the next one begins.
    ends = [tag.start() for tag in tags[1:]]
    ends.append(len(context))
    attached = []
    for tag, end in zip(tags, ends, strict=True):
        attributes = tag[1]
        content = _before(context[tag.end() : end], "</source>")
        id_match = _ID.search(attributes)
        if id_match is None:
            id_match = _INNER_ID.match(content)
            if id_match:
                content = _before(content[id_match.end() :], "</source_context>")
        number = id_match[1] if id_match else ""

        name_match = _NAME.search(attributes)
        title = name_match[1] if name_match else number
        if title.isdecimal():
            # A number is no title. It stands here if the front end does not tell the name of the file.
            title = ""
        attached.append(Attachment(number, title, content.strip()))
    # The front end numbers empty files too. So empty files stay in the list, unless all of them are empty.
    has_text = any(file.content for file in attached)
    return attached if has_text else []


def _before(text: str, closing: str) -> str:
    """Return what stands before the last closing tag. Without this tag, return the whole text.

    For example, ``_before("a</x>b", "</x>")`` returns ``"a"``.
    """
    inside, separator, _ = text.rpartition(closing)
    return inside if separator else text
