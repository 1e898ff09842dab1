"""The judge that calls a language model, as in the PrefRAG paper.

The model sees the question, the passages of earlier steps and the new passages. It replies with a JSON object that
holds an analysis and a verdict. True keeps the new passages, and False switches to another source.

There are two ways to ask the model. Usually the judge sends a prompt of its own. If the judge and the Reasoner call the
same model, the judge adds a question to the Reasoner's conversation. The server has already processed this
conversation, so it need not process the passages again.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any, Literal, get_args

from haystack import Document

from prefrag.components.block import Block, check_choice
from prefrag.components.both_ways import as_blocking
from prefrag.components.generators.json_reply import object_schema, read_field, read_object, response_format
from prefrag.components.generators.model_call import ChatGenerator, ModelCall, PreparedCall, reply_limit
from prefrag.components.generators.token_budget import Observations
from prefrag.components.judge.judge import Relevance
from prefrag.components.prompts.render_prompt import prompt_path, render_prompt
from prefrag.components.state.citations import known_marks, without_codes
from prefrag.components.state.passages import passages
from prefrag.components.state.state import RunError, State, Verdict, identity
from prefrag.components.text.sentences import cut_text

# What to do if the model's verdict cannot be read. `ModelJudge` explains the three values.
OnDoubt = Literal["keep", "end", "switch"]
# The name of the shipped prompt for verdicts.
_PROMPT = "source_switch_judge"
# The JSON schema of a verdict. The analysis may have at most 240 characters.
_SCHEMA = object_schema(analysis={"type": "string", "maxLength": 240}, status={"enum": ["True", "False"]})
# The highest score that the model may give a passage; the lowest is 0. The model is not asked for scores from -1 to 1,
# because models write whole numbers more reliably.
_BEST_SCORE = 10
# The number of tokens that the reply needs for each score: for the passage's number, the score and punctuation.
_TOKENS_OF_SCORE = 12
# The maximum number of passages that one call scores. Further passages get no score. A web page can be cut into
# thousands of parts, whose scores would not fit into a reply.
_MOST_SCORES = 100
# The word at the beginning of a text that gives the verdict: "True" in "True, because ...", "no" in "no". A letter or
# digit must not follow, so "Nothing" does not match.
_LEADING = re.compile(r"(?:(?P<true>true|yes)|false|no)(?![^\W_])", re.IGNORECASE)
# What may follow this word: the end of the text, punctuation, or a word that begins a reason. " because it helps"
# matches, " to its name" does not.
_REASON_FOLLOWS = re.compile(r"\s*(?:$|[.,;:!()\n\u2013\u2014-]|because\b|since\b|as\b)", re.IGNORECASE)
# A text that only repeats the choice from the prompt: "True or False", "false/true".
_BOTH = re.compile(r"true\W{1,9}(?:or\W{1,9})?false|false\W{1,9}(?:or\W{1,9})?true", re.IGNORECASE)


class ModelJudge(Block):
    """Judge with a language model, which compares new passages with earlier passages.

    The verdict is equation 3 of PrefRAG, and the prompt follows its table 20.
    """

    def __init__(
        self,
        chat_generator: ChatGenerator,
        prompt: str = _PROMPT,
        generation_kwargs: dict[str, object] | None = None,
        on_doubt: OnDoubt = "keep",
    ):
        """Set up the judge.

        :param chat_generator: The model, any Haystack chat generator.
        :param prompt: The prompt file. The shipped prompt is not used if the judge and the Reasoner call the same
            model. The judge then adds a question to the Reasoner's conversation. This happens only in a run with
            ``prompts: product`` and without ``instructions``.
        :param generation_kwargs: OpenAI-style parameters. None means temperature 0.1 and top_p 0.9.
        :param on_doubt: What to do if the model's verdict cannot be read, even after a second call.
            - ``keep`` keeps the passages, so the query goes to no other source.
            - ``end`` ends the run with an error.
            - ``switch`` sends the query to another source, as in the authors' code.

            When single passages are scored, ``keep`` gives none of them a score. ``switch`` gives all of them the
            lowest score.
        :raises ValueError: When a setting is unknown or the prompt file does not exist.
        """
        check_choice(get_args(OnDoubt), on_doubt=on_doubt)
        prompt_path(prompt)
        self.chat_generator = chat_generator
        self.prompt = prompt
        self.generation_kwargs = generation_kwargs
        self.on_doubt: OnDoubt = on_doubt
        self.call = ModelCall("judge", chat_generator, generation_kwargs)

    @property
    def can_judge(self) -> bool:
        """Whether a suitable model is set up.

        A model on a server is suitable. A model inside this process is suitable only if the user's settings name it as
        the judge.
        """
        if self.call.is_absent:
            return False
        return not self.call.is_embedded or bool(getattr(self.chat_generator, "is_named_for_judging", False))

    def warm_up(self) -> None:
        """Load the model or connect to its server."""
        self.call.warm_up()

    async def judge_async(self, state: State) -> tuple[Verdict, State]:
        """Judge the passages of the last search, if possible in the Reasoner's conversation (see ``prompt``).

        :param state: The state after a search that found at least one passage.
        :returns: The verdict, and the state with the judge's model calls added.
        :raises RunError: When the model fails, or when its verdict cannot be read and ``on_doubt`` is ``end``.
        """
        continuation = self._continue(state)
        if continuation is not None:
            call, marks = continuation
        else:
            call = self.prepare(state)
            marks = {}

        judgement, text, state = await self.call.send_until_read_async(call, read_judgement)
        verdict, state = self._decide(judgement, text, state)
        return replace(verdict, analysis=without_codes(verdict.analysis, marks)), state

    judge = as_blocking(judge_async)

    async def score_async(self, state: State, passages: Sequence[Document]) -> tuple[Relevance, State]:
        """Score how relevant each passage is to the question. One call scores all passages.

        :param state: The state after a search.
        :param passages: Passages that the search found, or parts of them. Only the first 100 get a score.
        :returns: The scores from -1 to 1, and the state with the judge's model calls added.
        :raises RunError: When the model fails, or when its scores cannot be read and ``on_doubt`` is ``end``.
        """
        call, read = self._prepare_scores(state, passages)
        scores, text, state = await self.call.send_until_read_async(call, read)
        return self._decide_scores(len(passages), scores, text, state)

    score = as_blocking(score_async)

    def prepare(self, state: State) -> PreparedCall:
        """Prepare the call that judges the last search.

        The method is public, because the training of judges also makes this call.

        :param state: The state after a search that found at least one passage.
        :returns: The call, ready to be sent.
        :raises RunError: When the prompt does not fit the model's window even without passages.
        """
        earlier = [state.attached, *(step.shown for step in state.steps[:-1])]

        def values(observations: Observations) -> dict[str, object]:
            """Return the variables of the prompt, with the passages that fit into it."""
            # The last group holds the new passages, and the groups before it hold the passages of earlier steps.
            *groups_before, new = observations
            observed = list(chain.from_iterable(groups_before))
            return {
                "question": state.question,
                "observed": passages(observed, prompts=state.settings.prompts) if observed else "",
                "new": passages(new, prompts=state.settings.prompts),
            }

        return self.call.prepare(
            state,
            self.prompt,
            [*earlier, state.step.searches[-1].documents],
            values,
            response_format=response_format("verdict", _SCHEMA),
        )

    def _continue(self, state: State) -> tuple[PreparedCall, dict[str, str]] | None:
        """Prepare a call that continues the Reasoner's conversation, which the model's server has already processed.

        :returns: The call, and the plain mark ("1") of each passage by the mark that the model sees ("1kx"). None if
            the judge has to use a prompt of its own.
        """
        reasoner = state.conversation
        settings = state.settings
        if reasoner is None or self.prompt != _PROMPT:
            return None

        # Instructions are part of the Reasoner's conversation, but they apply only to answers and not to verdicts.
        if settings.prompts != "product" or settings.instructions:
            return None
        if not self.call.has_same_model_as(reasoner.chat_generator):
            return None

        # The conversation shows the new passages as if they had been kept, each once.
        documents = {identity(document): document for document in state.step.searches[-1].documents}
        shown = state.with_last(documents=tuple(documents.values()), refined=None, observed=True)
        arguments = reasoner.ask_further(shown, render_prompt("source_switch_question"))
        if arguments is None:
            return None

        parameters: dict[str, Any] = {"response_format": response_format("verdict", _SCHEMA)}
        if arguments["tools"]:
            # The model is told not to call any of the conversation's tools. It has to reply with a verdict.
            parameters["tool_choice"] = "none"
        call = self.call.prepare(state, **arguments, **parameters)
        return call, known_marks(shown)

    def _prepare_scores(
        self, state: State, documents: Sequence[Document]
    ) -> tuple[PreparedCall, Callable[[str], list[float | None] | None]]:
        """Prepare the call that scores the first 100 passages, numbered from 1, and a function that reads the reply.

        :returns: The call, and a function that gets the text of a reply. The function returns a score for each passage
            in ``documents``, None for a passage that was not scored. It returns None if the reply cannot be read.
        """
        scored = documents[:_MOST_SCORES]
        # Equal passages, such as a sentence that occurs twice on a page, share a number.
        different_keys = dict.fromkeys(map(identity, scored))
        marks = {key: str(number) for number, key in enumerate(different_keys, start=1)}
        # The numbers of the passages that fit into the prompt. `values` sets them.
        shown: list[str] = []

        def values(observations: Observations) -> dict[str, object]:
            """Return the variables of the prompt, with the passages that fit into it."""
            # If not all passages fit into the context window, this function is called again with fewer passages. The
            # passages that are left out get no score.
            shown[:] = dict.fromkeys(marks[identity(document)] for document in observations[0])
            return {"question": state.question, "passages": passages(observations[0], marks=marks)}

        def read(text: str) -> list[float | None] | None:
            """Read the scores in a reply, a JSON object such as {"1": 10, "2": 0}; None if they cannot be read."""
            reply = read_object(text, "1") or {}
            scores = {number: _read_score(reply.get(number)) for number in shown}
            # One unreadable score makes all scores unusable, because it may belong to the most relevant passage.
            if None in scores.values():
                return None
            # A passage without a number, or one that was left out, has no score.
            return [scores.get(marks.get(identity(document), "")) for document in documents]

        possible_scores = list(range(_BEST_SCORE + 1))
        schema = object_schema(**{number: {"enum": possible_scores} for number in marks.values()})
        needed = _TOKENS_OF_SCORE * len(marks)
        call = self.call.prepare(
            state,
            "passage_relevance",
            [scored],
            values,
            response_format=response_format("relevance", schema),
            max_tokens=max(needed, reply_limit(self.call.generation_kwargs) or needed),
        )
        return call, read

    def _decide_scores(
        self, number: int, scores: list[float | None] | None, text: str, state: State
    ) -> tuple[Relevance, State]:
        """Turn the scores into a result, or follow ``on_doubt`` if they could not be read.

        :param number: The number of passages.
        :param scores: The scores that were read; None if the reply could not be read.
        :param text: The text of the reply.
        :param state: The state after the call.
        """
        if scores is not None:
            analysis = ""
            if None in scores:
                analysis = "The passages without a score did not fit into the judge's call."
            return Relevance(tuple(scores), "model", analysis=analysis), state

        verdict_by_setting, _ = self._decide(None, text, state)
        score = None if verdict_by_setting.status else -1.0
        return Relevance((score,) * number, "model", parsed=False, analysis=verdict_by_setting.analysis), state

    def _decide(self, verdict: Verdict | None, text: str, state: State) -> tuple[Verdict, State]:
        """Return the verdict that was read, or follow ``on_doubt`` if it is None.

        In the second case, the beginning of the reply is the analysis.
        """
        if verdict is not None:
            return verdict, state
        excerpt = " ".join(cut_text(text, 300).split())
        if self.on_doubt == "end":
            raise RunError(
                f"The judge's verdict could not be read, even when asked again: set on_doubt to keep, give the judge "
                f"another model, or raise {self.call.limit_setting} if its replies are cut off. Its last reply was: "
                f"'{excerpt}'.",
                state,
            )
        return Verdict(self.on_doubt == "keep", "model", excerpt, parsed=False), state


def read_judgement(text: str) -> Verdict | None:
    """Read the verdict in a reply of the model.

    For example, ``{"analysis": "It names the yard.", "status": "True"}`` gives a verdict that is True.

    :param text: The text of the reply.
    :returns: The verdict with its analysis; None if the verdict cannot be read.
    """
    status, values = read_verdict(text, "status")
    if status is None:
        return None
    return Verdict(status, "model", str(values.get("analysis") or ""))


def _read_score(value: Any) -> float | None:
    """Read a score from 0 to 10, and convert it to the range from -1 to 1; None if it cannot be read.

    For example, 10 becomes 1.0, 5 becomes 0.0, and the text "7" becomes 0.4. For 11 and "high", the result is None.
    """
    if isinstance(value, bool):
        return None
    try:
        score = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    if not 0 <= score <= _BEST_SCORE:
        return None
    return round(2 * score / _BEST_SCORE - 1, 4)


def read_boolean(value: object) -> bool | None:
    """Read a truth value as models write it.

    For example, ``True``, ``1``, ``"Yes."``, ``"**True**"`` and ``"True, because it helps"`` are read as True.
    ``"no"`` and ``"False - nothing"`` are read as False. ``"True or False"``, ``"maybe"`` and ``"No doubt"`` cannot be
    read.

    :param value: A value from a JSON object, or the text of a reply.
    :returns: The truth value; None if it cannot be read.
    """
    if isinstance(value, bool):
        return value

    # The verdict is at the beginning, so a long reply need not be read as a whole.
    text = str(value)[:1_000].strip().strip("\"'`*. \u201c\u201d")
    if text in ("1", "0"):
        return text == "1"
    word = _LEADING.match(text)
    if word is None or _BOTH.match(text):
        return None

    # After the word, only a reason may follow: "No doubt" and "True to its name" are not verdicts.
    rest = text[word.end() :].lstrip("\"'`*")
    if not _REASON_FOLLOWS.match(rest):
        return None
    return word["true"] is not None


def read_verdict(text: str, key: str) -> tuple[bool | None, dict[str, object]]:
    """Read a verdict from a field of a reply, or from the whole reply if there is no such field.

    For example, ``read_verdict('{"status": "True"}', "status")`` returns ``(True, {"status": "True"})``, and
    ``read_verdict("False, because", "status")`` returns ``(False, {})``.

    :param text: The text of the reply.
    :param key: The name of the field.
    :returns: The verdict, None if it cannot be read; and the JSON object of the reply, empty if there is none.
    """
    field, values = read_field(text, key)
    verdict = text if field is None else field
    return read_boolean(verdict), values
