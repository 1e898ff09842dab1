"""Try out with four short tasks whether a model can work in the format ``text``.

In this format, the model writes one step of a search in lines such as "Thought: ..." and "Action: ...". Small models
often fail at this, and then get the format ``steps``, which asks less of them. The trial of a model takes place once,
and its result is stored. :func:`try_models` tries the models of a pipeline that have not been tried yet.
"""

import asyncio
import logging
import re
from collections.abc import Callable
from contextlib import ExitStack, suppress
from typing import NamedTuple

from haystack.dataclasses import ChatMessage

from prefrag.audit_log import audit
from prefrag.components.both_ways import as_blocking
from prefrag.components.document_stores.tantivy.index_location import data_directory
from prefrag.components.generators.chat_model import ChatModel
from prefrag.components.generators.json_reply import object_schema, read_object, response_format
from prefrag.components.generators.model_host import find_host, is_local, refuse_remote_models
from prefrag.components.generators.reasoning_blocks import has_open_reasoning, strip_reasoning
from prefrag.components.parts import read_attribute, walk_parts
from prefrag.file_lock import hold_lock

logger = logging.getLogger(__name__)

# The seconds that one call of the trial may take.
CALL_SECONDS = 60.0
# The maximum number of tokens of a reply in the trial.
_REPLY_TOKENS = 80
# The seconds to wait for another process that tries a model at the same time.
_WAIT_SECONDS = 300.0
# The prompt of the first three tasks, in the layout of the format `text`.
_LAYOUT = """\
Answer the question from the passages below, not from memory. Write one step, a line for each field, and stop.

To search for a missing fact:
Thought: one sentence of your own
Action: Search_Engine
Action Input: the words to search for

When nothing is missing:
Thought: one sentence of your own
Final Answer: nothing but the answer, or NOT FOUND if the passages do not state it

Question: {question}
Thought: I look for passages about the question.
Action: Search_Engine
Action Input: {query}
Observation: {passages}
"""
# The prompt of the fourth task. The right status is "False", because the passages are the same.
_VERDICT = """\
Question: In which year did the Tarn Mill burn down?

Passages that were shown before:
[1] The Tarn Mill was built by the weaver Ada Roke. It stood beside the bridge at Hollin.

Passages that were found now:
[1] The Tarn Mill was built by the weaver Ada Roke. It stood beside the bridge at Hollin.

Do the passages found now state anything that was not shown before? Reply with one JSON object: "analysis", one short \
sentence, and "status", "True" or "False".
"""
# The JSON schema for the reply to the fourth task.
_SCHEMA = object_schema(analysis={"type": "string", "maxLength": 120}, status={"enum": ["True", "False"]})
# The names of the fields of a reply.
_NAMES = "Action Input|Action|Final Answer|Observation"
# Matches a line with a field, such as "Action Input: ferry Kestrel". Group 1 is the name, and group 2 is the value.
# Other signs may stand before the name, and between the name and the first colon behind it, as in "- Action :". So the
# asterisks in "**Final Answer:** Norrby" do no harm. Asterisks, low lines and blanks behind the colon are left out.
_FIELD = re.compile(rf"^\W*({_NAMES})\W*?:[*_ \t]*(.*)$", re.IGNORECASE | re.MULTILINE)
# Matches words of the prompt that describe a field. A reply that has copied these words has no query of its own.
_DESCRIBED = re.compile(r"the words to search for|search for a missing fact|nothing but the answer", re.IGNORECASE)
# Matches what an answer with a price has: a digit, or a word of the passage "The ferry Harrier cost 24 million crowns".
_PRICE = re.compile(r"\d|million|crown")


class _Task(NamedTuple):
    """A task of the trial."""

    # The ability that the task tests, as the end of the sentence "It did not ...".
    aim: str
    prompt: str
    # Checks whether a reply is right.
    is_right: Callable[[str], bool]
    # The generation parameters of the call.
    parameters: dict[str, object] = {"stop": ["\nObservation:"]}


def _read_fields(reply: str) -> dict[str, str]:
    """Read the fields of a reply.

    If a name stands in several lines, the first line counts. Reading ends at an observation: an observation in a reply
    can only be invented by the model. For example, ``_read_fields("Action: Search_Engine")`` returns
    ``{"action": "Search_Engine"}``.
    """
    fields: dict[str, str] = {}
    for match in _FIELD.finditer(reply):
        name, value = match.groups()
        if name.lower() == "observation":
            break
        fields.setdefault(name.lower(), value.strip())
    return fields


def _searches(reply: str, name: str = "", earlier: str = "") -> bool:
    """Check whether a reply searches with a query of its own.

    :param reply: The reply.
    :param name: A name in lower case that the query must contain.
    :param earlier: The query of the step before, in lower case. The new query must differ from it.
    """
    fields = _read_fields(reply)
    action = re.sub(r"[\W_]", "", fields.get("action", "")).lower()
    if action != "searchengine" or fields.get("final answer"):
        return False
    query = fields.get("action input", "")
    if len(query) <= 2:
        return False
    is_copied = _DESCRIBED.search(query) is not None or query.lower() == earlier
    return not is_copied and name in query.lower()


def _answers(reply: str, right: str, wrong: str) -> bool:
    """Check whether a reply gives an answer that contains the right name and not the wrong one.

    :param reply: The reply.
    :param right: The right name, in lower case.
    :param wrong: The wrong name, in lower case.
    """
    answer = _read_fields(reply).get("final answer", "").lower()
    return right in answer and wrong not in answer


def _admits_gap(reply: str) -> bool:
    """Check whether a reply to the third task says that the passages do not state the price, or searches on.

    The passages state only the price of another ferry. So an answer with a price is wrong. Any other answer is right,
    such as "NOT FOUND" or "The passages do not say".
    """
    answer = _read_fields(reply).get("final answer")
    if answer is None:
        return _searches(reply, earlier="ferry kestrel cost")
    has_price = _PRICE.search(answer) is not None
    return bool(answer) and not has_price


def _sees_nothing_new(reply: str) -> bool:
    """Check whether a reply to the fourth task has the right status, as in ``{"status": "False"}``."""
    values = read_object(reply)
    if values is None:
        return False
    status = str(values.get("status"))
    return status.lower() == "false"


# The four tasks. A model that does all of them right gets the format `text`.
_TASKS = (
    _Task(
        "search for the next fact",
        _LAYOUT.format(
            question="In which town was the engineer born who built the Marlow Lift?",
            query="Marlow Lift engineer",
            passages="[1] The Marlow Lift is a boat lift on a canal. Hedda Brink, an engineer, built it in 1911.",
        ),
        lambda reply: _searches(reply, "brink"),
    ),
    _Task(
        "answer from a passage",
        _LAYOUT.format(
            question="Who designed the lighthouse of Skarn?",
            query="lighthouse of Skarn",
            passages="[1] The lighthouse of Vell was designed by Tomas Reike.\n"
            "[2] Ilse Norrby designed the lighthouse of Skarn, which was lit in 1887.",
        ),
        lambda reply: _answers(reply, "norrby", "reike"),
    ),
    _Task(
        "admit what no passage states",
        _LAYOUT.format(
            question="How much did the ferry Kestrel cost?",
            query="ferry Kestrel cost",
            passages="[1] The ferry Kestrel carries 85 cars and entered service in 1974.\n"
            "[2] The ferry Harrier cost 24 million crowns.",
        ),
        _admits_gap,
    ),
    _Task(
        "see that nothing is new",
        _VERDICT,
        _sees_nothing_new,
        {"response_format": response_format("verdict", _SCHEMA)},
    ),
)


class AbilityProbe(ChatModel):
    """Try out a model. The calls are like those of a run, but without retries and with a short deadline.

    A model that does all four tasks right gets the format ``text``, and any other model gets ``steps``. The passages in
    the tasks are invented, so nothing of the documents leaves this machine. The result is stored, so that each model is
    tried only once.

    :param model: The model to try.
    :param seconds: The seconds that a call may take, if the model itself does not have a shorter limit.
    """

    # There is no further attempt after a failed call.
    retries = 0

    def __init__(self, model: ChatModel, seconds: float = CALL_SECONDS):
        # The role names the environment variables that select a model, such as PREFRAG_LLM_MODEL. So the calls of the
        # trial go to the same model.
        super().__init__(model.role, timeout=min(model.timeout, seconds))

    @property
    def reply_limit(self) -> int | None:
        """The limit of a reply. It is None, because each call of the trial sets its own limit."""
        return None

    async def ask_async(self, question: str, **parameters: object) -> ChatMessage:
        """Ask one question. If the model is on another machine, the audit log gets a line first.

        :param question: The prompt.
        :param parameters: Generation parameters of this call, under their OpenAI names.
        :returns: The reply.
        :raises RemoteModelRefused: When the model is on another machine and remote models are forbidden.
        :raises AuditLogFailed: When the line cannot be written.
        :raises ModelServerError: When the call fails.
        """
        refuse_remote_models(self)
        host = find_host(self)
        if not is_local(host):
            audit("model_call", role=self.role, caller="ability_probe", host=host)
        output = await self.run_async([ChatMessage.from_user(question)], {"temperature": 0.0, **parameters})
        reply: ChatMessage = output["replies"][0]
        return reply

    ask = as_blocking(ask_async)

    async def try_async(self) -> str:
        """Try the model, and store the result in its record.

        If the model spends all tokens of a reply on thinking, the trial ends, because there is no reply to check. Then
        the format that was guessed before, usually from the size of the model, is stored as the result. Otherwise the
        next process would try the model again.

        :returns: The reason for the format in one sentence, such as ``4 of 4 tasks right``.
        :raises Exception: When a call fails. See :meth:`ask_async`.
        """
        failed = []
        for task in _TASKS:
            reply = await self.ask_async(task.prompt, max_tokens=_REPLY_TOKENS, **task.parameters)
            text = reply.text or ""
            is_cut_off = reply.meta.get("finish_reason") == "length"
            # Some servers leave the thoughts out of the text, so a text that has only thoughts is empty.
            is_thinking = has_open_reasoning(text) or not text.strip()
            if is_cut_off and is_thinking:
                reason = "It thinks before it replies, so it was not tried; its size decides, if it is known"
                guess = self.reply_format
                self.keep(reply_format=guess, reason=reason)
                return reason
            if not task.is_right(strip_reasoning(text)):
                failed.append(task.aim)

        number_right = len(_TASKS) - len(failed)
        reason = f"{number_right} of {len(_TASKS)} tasks right"
        if failed:
            failed_aims = ", nor ".join(failed)
            reason = f"{reason} (it did not {failed_aims})"
        self.keep(reply_format="steps" if failed else "text", reason=reason)
        return reason


def find_untried(whole: object) -> list[ChatModel]:
    """Find the models of a pipeline whose reply format matters and is still a guess.

    The format matters for a component with ``reply_format: auto``.

    :param whole: The pipeline, or any object that contains the components.
    :returns: The models, each once.
    """
    automatic = [part for _, part in walk_parts(whole) if read_attribute(part, "reply_format") == "auto"]
    # The models are inside these components, or inside their parts.
    models = [part for _, part in walk_parts(automatic) if isinstance(part, ChatModel)]
    # Several components may call the same model, each through an object of its own. One of these objects is enough.
    models_by_name = {}
    for model in models:
        if not model.is_absent and model.is_format_guessed:
            models_by_name[model.record.name] = model
    return list(models_by_name.values())


def try_models(whole: object, seconds: float = CALL_SECONDS, wait: float = _WAIT_SECONDS) -> None:
    """Try the models of a pipeline that have not been tried yet. A failure is only logged.

    If several processes do this at the same time, one of them tries the models, and the others wait for the results.

    :param whole: The pipeline, or any object that contains the components.
    :param seconds: The seconds that each call may take.
    :param wait: The seconds to wait for another process that tries a model.
    """
    for model in find_untried(whole):
        try:
            with ExitStack() as stack:
                # If the data folder cannot be written to, there can be no lock, and the model is tried without it. The
                # result cannot be stored either, so other processes try the model again.
                with suppress(OSError):
                    stack.enter_context(hold_lock(data_directory() / "models.trial.lock", wait, "trying the model"))
                # While this process waited for the lock, another one may have tried the model. Its result is read here.
                model.record.recall()
                if model.is_format_guessed:
                    reason = asyncio.run(AbilityProbe(model, seconds).try_async())
                    logger.info("The model replies in the format %s: %s.", model.reply_format, reason)
        except Exception as error:
            logger.warning("The model could not be tried: %s", error)
