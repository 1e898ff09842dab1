"""Have a language model write the question for a sentence, and check that question.

The question is asked only if its answer is the value of this sentence. Otherwise the question by form is asked.
"""

from __future__ import annotations

import re
from dataclasses import replace

from haystack import Document
from haystack.dataclasses import ChatMessage

from prefrag.audit_log import audit
from prefrag.components.generators.chat_model import ChatModel
from prefrag.components.generators.model_host import find_host, is_local, refuse_remote_models
from prefrag.components.generators.reasoning_blocks import strip_reasoning
from prefrag.components.reader.question_form import asks_beyond_spans, asks_yes_no, looks_english
from prefrag.components.reader.reader import Reader
from prefrag.components.state.result import Result
from prefrag.evaluation.prove.questions import Question, find_copies, has_rival
from prefrag.evaluation.prove.sentences import Sentences, says_value
from prefrag.evaluation.prove.verdict import judge_answer
from prefrag.evaluation.prove.wording import names_in, roots, shared
from prefrag.evaluation.prove.worlds import AS_IS

# The forms for which a model writes a question.
_FORMS = ("date", "number", "name", "place")
# The maximum number of tokens of the reply, which is enough for one question.
_REPLY_TOKENS = 40
# A longer question is not used.
_MOST_CHARACTERS = 120
# At least this share (0 to 1) of a question's words must be words of the sentence or its headings.
_LEAST_OWN = 0.5
# The prompt for one question.
_PROMPT = """\
Document: {title}
Sentence: {sentence}
Answer: {value}
Write the short question that a person who has not read the sentence would ask to get this answer, in other words than \
the sentence's. Name what it is about. Write nothing but the question.
"""


class QuestionWriter(ChatModel):
    """Writes questions with the model that the variables ``PREFRAG_LLM_...`` name."""

    async def write(self, question: Question) -> str:
        """Write another question with the same answer.

        If the model is on another machine, the audit log gets a line.

        :param question: The question by form.
        :returns: The first line of the reply, which may be empty.
        :raises ModelServerError: If the model cannot be reached or gives no usable reply.
        """
        refuse_remote_models(self)
        host = find_host(self)
        if not is_local(host):
            audit("model_call", role=self.role, caller="prove", host=host)
        title = str(question.sentence.passage.meta.get("title") or "")
        prompt = _PROMPT.format(title=title, sentence=question.sentence.text, value=question.value)
        parameters = {"temperature": 0.0, "max_tokens": _REPLY_TOKENS}
        output = await self.run_async([ChatMessage.from_user(prompt)], parameters)
        reply = strip_reasoning(output["replies"][0].text or "")
        lines = reply.strip().splitlines()
        if not lines:
            return ""
        return lines[0].strip().removeprefix("Question: ").strip("\"'` ")


def is_written_about(question: Question) -> bool:
    """Check whether a model writes another question for a question by form. It does not for cells and steps.

    :param question: The question by form.
    :returns: True if the model writes one.
    """
    return question.form in _FORMS


def check_written(text: str, question: Question, sentences: Sentences, reader: Reader) -> Question | None:
    """Check that a question that a model wrote asks for the value of one sentence.

    The question must pass these checks, in this order:

    1. It has the form of a question, and asks for one value, not for yes or no.
    2. It does not contain the answer.
    3. It names something, and only what the sentence or its headings name.
    4. It has no copies but those of the question by form, and no other sentence may answer it.
    5. The reader, which gets only the sentence, answers with the value.

    :param text: What the model wrote.
    :param question: The question by form, whose sentence and value the model was shown.
    :param sentences: The sentences of the folder.
    :param reader: The reader.
    :returns: The question with this text. None if a check failed.
    """
    # Check 1.
    is_question = len(text) <= _MOST_CHARACTERS and re.fullmatch(r"[^?\n]+\?", text) and looks_english(text)
    if not is_question or asks_beyond_spans(text) or asks_yes_no(text):
        return None
    # Check 2.
    if says_value(question.form, question.value, text):
        return None

    # Check 3.
    question_roots = roots(text)
    sentence_roots = roots(question.sentence.text) | sentences.context_of(question.sentence)
    own_roots = question_roots & sentence_roots
    names = names_in(text)
    if not names or not names <= own_roots:
        return None
    if len(own_roots) < max(2, _LEAST_OWN * len(question_roots)):
        return None
    written = replace(question, text=text, core=text, plain="", shared=shared(text, question.sentence.text))

    # Check 4.
    copies = find_copies(written, sentences)
    own_copies = {copy.number for copy in question.copies}
    if copies is None or any(copy.number not in own_copies for copy in copies):
        return None
    if has_rival(written, own_roots, names, sentences):
        return None

    # Check 5. The answer is judged as if it had been given as stated in a run.
    title = str(question.sentence.passage.meta.get("title") or "")
    alone = Document(content=question.sentence.text, meta={"title": title})
    answers = reader.read(text, [alone])
    best_text = answers[0].text if answers else ""
    result: Result = {"certainty": "stated", "answered": True, "answer": best_text}
    if judge_answer(written, AS_IS, "", result) != "right":
        return None
    return written
