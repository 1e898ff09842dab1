"""The hook that checks the answer of an Agent against the passages that its tools found.

Haystack calls a hook at a point of an Agent's run. This hook runs at the end and may change the last message.
"""

import re

from haystack import Document
from haystack.components.agents import State as AgentState
from haystack.dataclasses import ChatMessage, ChatRole

from prefrag.components.agent_hooks.conversation import find_documents, find_question
from prefrag.components.block import Block
from prefrag.components.reader.extractive_reader import ExtractiveReader
from prefrag.components.reader.reader import Judgement, Reader
from prefrag.components.reasoner.answer_check import AnswerCheck, check_answer

# A mark that cites a document, with the blanks before it. Group 1 is the beginning of the document's id.
# Matches: "In May [doc 1a2b3c4d]." Does not match: "[doc]".
_MARK = re.compile(r"[ \t]*\[doc ([^\[\]\n]{1,64})\]")
# A correct mark has this many characters of the id of a document.
_MARK_CHARACTERS = 8


class CheckAnswer(Block):
    """Check whether a passage states an Agent's answer, and correct its citations. Register it under ``after_run``.

    The Agent cites a document by a mark such as ``[doc 1a2b3c4d]``, which has the first characters of the document's
    id. Marks that belong to no document are taken out. If no mark is left, a mark of the document with the answer is
    added. If no passage has the words of the answer, the answer is introduced as the model's own words. The metadata of
    the message has the certainty, the evidence and the unsupported sentences under the key ``prefrag``.

    Usage example:
    ```python
    from prefrag.components.agent_hooks.check_answer import CheckAnswer

    hooks = {"after_run": [CheckAnswer()]}
    ```
    """

    allowed_hook_points = ("after_run",)

    def __init__(self, reader: Reader | None = None, documents_key: str = "documents"):
        """Set up the hook.

        :param reader: The reader that judges the answer. If None, the shipped reader is used.
        :param documents_key: The key in the Agent's state under which its tools write the documents that they find.
        """
        self.reader = ExtractiveReader() if reader is None else reader
        self.documents_key = documents_key

    def warm_up(self) -> None:
        """Load the reader."""
        warm_up = getattr(self.reader, "warm_up", None)
        if callable(warm_up):
            warm_up()

    def run(self, state: AgentState) -> None:
        """Check the last message if it is an answer.

        :param state: The Agent's state, which is changed in place.
        """
        messages = state.data["messages"]
        if not messages or not messages[-1].is_from(ChatRole.ASSISTANT) or not messages[-1].text:
            return

        *earlier, last = messages
        question = find_question(earlier)
        documents = find_documents(state, self.documents_key)
        answer = _MARK.sub("", last.text).strip()
        # An empty judgement says that nothing supports the answer. This is the case without documents.
        judged = self.reader.judge(question, documents, answer) if documents else Judgement()
        check = check_answer(question, answer, documents, judged)

        quotations = []
        for evidence in check.evidence:
            document = evidence.document
            quotations.append({"id": document.id, "sentence": evidence.sentence, "meta": document.meta})

        facts = {"certainty": check.certainty, "evidence": quotations, "unsupported": list(check.unsupported)}
        text = _show(last.text, answer, documents, check)
        checked = ChatMessage.from_assistant(
            text, meta={**last.meta, "prefrag": facts}, name=last.name, reasoning=last.reasoning
        )
        # By default, Haystack would append the messages to those in the state. This handler replaces them.
        state.set("messages", [*earlier, checked], handler_override=lambda before, after: after)


def _show(text: str, answer: str, documents: list[Document], check: AnswerCheck) -> str:
    """Write the checked answer. ``text`` is the Agent's text, and ``answer`` is the same text without marks."""
    if check.certainty == "not_found":
        return f"Not found in the documents. In the model's own words: {answer}"

    # A mark that cites none of the documents is removed.
    correct_marks = {document.id[:_MARK_CHARACTERS] for document in documents}
    shown = _MARK.sub(lambda match: match[0] if match[1] in correct_marks else "", text).strip()

    for sentence in check.unsupported:
        # The sentences are those of the answer without marks. So a sentence with a mark inside gets no label.
        shown = shown.replace(sentence, f"{sentence} [in no passage]")

    cites_document = any(match[1] in correct_marks for match in _MARK.finditer(shown))
    if not cites_document:
        # If the answer was found in the documents, the first evidence is the sentence with the answer.
        carrier = check.evidence[0].document
        shown += f" [doc {carrier.id[:_MARK_CHARACTERS]}]"
    return shown if check.certainty == "stated" else f"Probably: {shown}"
