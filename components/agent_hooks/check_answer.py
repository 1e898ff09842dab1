"""The hook that checks the answer of an Agent against the passages that its tools found."""

import re
from typing import Any

from haystack import Document
from haystack.dataclasses import ChatMessage, ChatRole

from prefrag.components.agent_hooks.conversation import find_documents, find_question
from prefrag.components.block import Block
from prefrag.components.reader.extractive_reader import ExtractiveReader
from prefrag.components.reader.reader import Judgement, Reader
from prefrag.components.reasoner.answer_check import AnswerCheck, check_answer

# A mark with the blanks before it: " [doc 1a2b3c4d]".
_MARK = re.compile(r"[ \t]*\[doc ([^\[\]\n]{1,64})\]")
# A right mark has so many characters of a document's id.
_MARK_CHARACTERS = 8


class CheckAnswer(Block):
    """Check whether a passage states an Agent's answer, and correct its citations. Register it under ``after_run``.

    The Agent cites a document by a mark such as ``[doc 1a2b3c4d]``, which holds the first characters of the document's
    id. Marks that belong to no document are taken out, and the document that carries the answer gets a mark. If no
    passage has the words of the answer, the answer is introduced as the model's own words. The metadata of the message
    has the certainty, the evidence and the unsupported sentences under ``prefrag``.

    ```python
    from prefrag.components.agent_hooks.check_answer import CheckAnswer

    hooks = {"after_run": [CheckAnswer()]}
    ```
    """

    allowed_hook_points = ("after_run",)

    def __init__(self, reader: Reader | None = None, documents_key: str = "documents"):
        """Set up the hook.

        :param reader: What judges the answer; by default the shipped reader.
        :param documents_key: The key of the Agent's state to which its tools write the documents that they find.
        """
        self.reader = ExtractiveReader() if reader is None else reader
        self.documents_key = documents_key

    def warm_up(self) -> None:
        """Load the reader."""
        warm_up = getattr(self.reader, "warm_up", None)
        if callable(warm_up):
            warm_up()

    def run(self, state: Any) -> None:
        """Check the last message, if it is an answer.

        :param state: The Agent's state, which is changed in place.
        """
        messages = state.data["messages"]
        if not messages or not messages[-1].is_from(ChatRole.ASSISTANT) or not messages[-1].text:
            return
        *earlier, last = messages
        question, documents = find_question(earlier), find_documents(state, self.documents_key)
        answer = _MARK.sub("", last.text).strip()
        # Without documents, nothing supports the answer, which is what an empty judgement says.
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
        # By default, Haystack would append the messages to those in the state.
        state.set("messages", [*earlier, checked], handler_override=lambda before, after: after)


def _show(text: str, answer: str, documents: list[Document], check: AnswerCheck) -> str:
    if check.certainty == "not_found":
        return f"Not found in the documents. In the model's own words: {answer}"
    marks = {document.id[:_MARK_CHARACTERS] for document in documents}
    shown = _MARK.sub(lambda match: match[0] if match[1] in marks else "", text).strip()
    for sentence in check.unsupported:
        # The sentences are those of the answer without marks, so one with a mark inside is not labelled.
        shown = shown.replace(sentence, f"{sentence} [in no passage]")
    cites_document = any(match[1] in marks for match in _MARK.finditer(shown))
    if not cites_document:
        # An answer that was found in the documents has the sentence that carries it as its first evidence.
        carrier = check.evidence[0].document
        shown += f" [doc {carrier.id[:_MARK_CHARACTERS]}]"
    return shown if check.certainty == "stated" else f"Probably: {shown}"
