"""Split a chat request into the question, the earlier turns, and the files that the front end attached.

A chat request is a list of messages. The last message of the user is the question. The messages before it are the
earlier turns.
"""

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from prefrag.components.state.attached import MAX_ATTACHED, MAX_ATTACHED_CHARACTERS
from prefrag.components.state.citations import read_citations
from prefrag.components.text.sentences import cut_text
from prefrag.errors import BadInput
from prefrag.server.chat.chat_text import strip_notes
from prefrag.server.chat.front_end_prompts import Attachment, drop_tools, separate_attachments
from prefrag.server.http.json_bodies import SYSTEM_ROLES

# An earlier answer is cut to this many characters. The model that rewrites follow-up questions reads even fewer.
_MAX_ANSWER_CHARACTERS = 4_000
# Three or more blanks or line breaks in a row. They become a single empty line.
_BLANKS = re.compile(r"\s{3,}")


class Conversation(NamedTuple):
    """The parts of a chat request."""

    # The last message of the user, without attached files.
    question: str
    # The earlier turns, oldest first. Each has a `role` ("user" or "assistant") and a `content`.
    history: list[dict[str, str]]
    # The files of this question, then those of earlier questions, newest first.
    attached: list[Attachment]
    # The texts of all system messages, with an empty line between two. Empty if there are none.
    instructions: str


def split_conversation(messages: Sequence[Mapping[str, object]]) -> Conversation:
    """Split a conversation into its question, the earlier turns, the attached files and the instructions.

    :param messages: The messages, oldest first. Each has a `role` and a `content`.
    :raises BadInput: If no message has the role `user`.
    """
    numbers_of_questions = [number for number, message in enumerate(messages) if message.get("role") == "user"]
    if not numbers_of_questions:
        raise BadInput("The messages hold no question: send at least one with the role 'user'.")
    last = numbers_of_questions[-1]

    # The earlier turns, and the files that were attached to them.
    history: list[dict[str, str]] = []
    earlier: list[Attachment] = []
    for message in messages[:last]:
        role = str(message.get("role"))
        text = read_text(message)
        if role == "assistant" and text:
            history.append({"role": role, "content": _read_answer(text)})
        elif role == "user" and text:
            content, files = separate_attachments(text)
            history.append({"role": role, "content": content})
            # The front end's marks, which are numbers, refer only to the files of the last question. So these files
            # lose their marks.
            unmarked = [file._replace(mark="") for file in files]
            # The messages come oldest first, and the files of the newest message are to be first.
            earlier = [*unmarked, *earlier]

    question, attached = separate_attachments(read_text(messages[last]))
    instructions = []
    for message in messages:
        if message.get("role") in SYSTEM_ROLES:
            # Open WebUI can be configured to put files into the system message.
            text, files = separate_attachments(read_text(message))
            # A description of tools is left out, because this service calls none.
            instructions.append(drop_tools(text))
            attached += files
    return Conversation(
        question=question,
        history=history,
        attached=_add_earlier(attached, earlier),
        instructions="\n\n".join(filter(None, instructions)),
    )


def _add_earlier(attached: list[Attachment], earlier: Sequence[Attachment]) -> list[Attachment]:
    """Add the files of earlier questions, so that follow-up questions can use them.

    A file is left out if it is already attached, if there are too many files, or if it is too long for the room left.
    """
    files = list(attached)
    contents = {(file.title, file.content) for file in attached}
    room = MAX_ATTACHED_CHARACTERS - sum(len(file.content) for file in attached)
    for file in earlier:
        is_new = (file.title, file.content) not in contents
        has_room = len(files) < MAX_ATTACHED and len(file.content) <= room
        if is_new and has_room:
            files.append(file)
            contents.add((file.title, file.content))
            room -= len(file.content)
    return files


def read_text(message: Mapping[str, object]) -> str:
    """Get the text of a message. The content may be a text or a list of parts, such as texts and images.

    For example, ``read_text({"content": [{"type": "text", "text": "Why?"}]})`` returns ``"Why?"``.

    :param message: The message.
    :returns: The text. The texts of several parts are joined by line breaks. Empty if there is no text.
    """
    content = message.get("content")
    if isinstance(content, list):
        text_parts = [part for part in content if isinstance(part, dict) and part.get("type") == "text"]
        texts = [part.get("text") for part in text_parts]
        return "\n".join(text for text in texts if isinstance(text, str))
    return content if isinstance(content, str) else ""


def _read_answer(content: str) -> str:
    """Return an earlier answer without notes, sources and citation marks."""
    # Shorten the answer first, because it may have any length, and finding citations in a long text takes time.
    shortened = cut_text(strip_notes(content), _MAX_ANSWER_CHARACTERS)
    answer, _ = read_citations(_BLANKS.sub("\n\n", shortened))
    return answer
