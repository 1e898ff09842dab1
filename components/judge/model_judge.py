"""The judge that calls a language model, as in the PrefRAG paper."""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
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

OnDoubt = Literal["keep", "end", "switch"]
_PROMPT = "source_switch_judge"
_SCHEMA = object_schema(analysis={"type": "string", "maxLength": 240}, status={"enum": ["True", "False"]})
# The model scores from 0 to this number. It is not asked for -1 to 1: models write whole numbers more reliably.
_BEST_SCORE = 10
# The number of tokens that the reply needs for each score: for the passage's number, the score and punctuation.
_TOKENS_OF_SCORE = 12
# The maximum number of scores in a reply: those of a web page, cut into thousands of parts, would not fit into it.
_MOST_SCORES = 100
# The verdict at the beginning of a text: "True, because ...".
_LEADING = re.compile(r"(?:(?P<true>true|yes)|false|no)(?![^\W_])", re.IGNORECASE)
# What may stand behind it: the end, punctuation, or "because".
_REASON_FOLLOWS = re.compile(r"\s*(?:$|[.,;:!()\n\u2013\u2014-]|because\b|since\b|as\b)", re.IGNORECASE)
# The choice that the prompt gives, repeated: "True or False", "false/true".
_BOTH = re.compile(r"true\W{1,9}(?:or\W{1,9})?false|false\W{1,9}(?:or\W{1,9})?true", re.IGNORECASE)


class ModelJudge(Block):
    """Judge with a language model, which compares new passages with earlier ones (PrefRAG, equation 3 and table 20)."""

    def __init__(
        self,
        chat_generator: ChatGenerator,
        prompt: str = _PROMPT,
        generation_kwargs: dict[str, Any] | None = None,
        on_doubt: OnDoubt = "keep",
    ):
        """Set up the judge.

        :param chat_generator: The model, any Haystack chat generator.
        :param prompt: The prompt file. If the judge and the Reasoner call the same model, the shipped prompt is not
            used: the judge then adds a question to the Reasoner's conversation. This happens only in a run with
            ``prompts: product`` and without ``instructions``.
        :param generation_kwargs: OpenAI-style parameters; by default temperature 0.1, top_p 0.9.
        :param on_doubt: What to do if the model's verdict cannot be read, even after a second call. ``keep`` keeps the
            passages, so the query goes to no other source. ``end`` ends the run with an error. ``switch`` sends the
            query to another source, as in the authors' code. When single passages are scored, ``keep`` gives none of
            them a score, and ``switch`` gives all of them the lowest score.
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
        """Whether a suitable model is set up: one on a server, or one in this process that is named as the judge."""
        if self.call.is_absent:
            return False
        return not self.call.is_embedded or bool(getattr(self.chat_generator, "is_named_for_judging", False))

    def warm_up(self) -> None:
        """Load the model or connect to its server."""
        self.call.warm_up()

    async def judge_async(self, state: State) -> tuple[Verdict, State]:
        """Judge the passages of the last search, if possible in the reasoner's conversation (see ``prompt``)."""
        continuation = self._continue(state)
        call, marks = continuation if continuation is not None else (self.prepare(state), {})
        judgement, text, state = await self.call.send_until_read_async(call, read_judgement)
        verdict, state = self._decide(judgement, text, state)
        return replace(verdict, analysis=without_codes(verdict.analysis, marks)), state

    judge = as_blocking(judge_async)

    async def score_async(self, state: State, passages: Sequence[Document]) -> tuple[Relevance, State]:
        """Score how relevant each passage is to the question, in one call."""
        call, read = self._prepare_scores(state, passages)
        scores, text, state = await self.call.send_until_read_async(call, read)
        return self._decide_scores(len(passages), scores, text, state)

    score = as_blocking(score_async)

    def prepare(self, state: State) -> PreparedCall:
        """Prepare the call that judges the last search. Public, because the training of judges also makes this call.

        :param state: The state after a search that found at least one passage.
        :returns: The call, ready to be sent.
        :raises RunError: When the prompt does not fit the model's window even without passages.
        """
        earlier = [state.attached, *(step.shown for step in state.steps[:-1])]

        def values(observations: Observations) -> dict[str, object]:
            observed = [document for documents in observations[:-1] for document in documents]
            return {
                "question": state.question,
                "observed": passages(observed, prompts=state.settings.prompts) if observed else "",
                "new": passages(observations[-1], prompts=state.settings.prompts),
            }

        return self.call.prepare(
            state,
            self.prompt,
            [*earlier, state.step.searches[-1].documents],
            values,
            response_format=response_format("verdict", _SCHEMA),
        )

    def _continue(self, state: State) -> tuple[PreparedCall, dict[str, str]] | None:
        """Prepare a call that continues the reasoner's conversation, which the model's server has already processed."""
        reasoner, settings = state.conversation, state.settings
        if reasoner is None or self.prompt != _PROMPT:
            return None
        # Instructions are part of the reasoner's conversation, but apply only to answers and not to verdicts.
        if settings.prompts != "product" or settings.instructions:
            return None
        if not self.call.has_same_model_as(reasoner.chat_generator):
            return None
        documents = {identity(document): document for document in state.step.searches[-1].documents}
        shown = state.with_last(documents=tuple(documents.values()), refined=None, observed=True)
        asked = reasoner.ask_further(shown, render_prompt("source_switch_question"))
        if asked is None:
            return None
        parameters: dict[str, Any] = {"tool_choice": "none"} if asked["tools"] else {}
        call = self.call.prepare(state, **asked, response_format=response_format("verdict", _SCHEMA), **parameters)
        return call, known_marks(shown)

    def _prepare_scores(
        self, state: State, documents: Sequence[Document]
    ) -> tuple[PreparedCall, Callable[[str], list[float | None] | None]]:
        """Prepare the call that scores the first 100 passages, numbered from 1, and a function that reads the reply."""
        scored = documents[:_MOST_SCORES]
        # Equal passages, such as a sentence that occurs twice on a page, share a number.
        marks = {key: str(number) for number, key in enumerate(dict.fromkeys(map(identity, scored)), start=1)}
        shown: list[str] = []

        def values(observations: Observations) -> dict[str, object]:
            # Called again with fewer passages if not all fit into the context window. The others get no score.
            shown[:] = dict.fromkeys(marks[identity(document)] for document in observations[0])
            return {"question": state.question, "passages": passages(observations[0], marks=marks)}

        def read(text: str) -> list[float | None] | None:
            reply = read_object(text, "1") or {}
            scores = {number: _read_score(reply.get(number)) for number in shown}
            # One unreadable score makes all scores unusable, because it may belong to the most relevant passage.
            if None in scores.values():
                return None
            return [scores.get(marks.get(identity(document), "")) for document in documents]

        schema = object_schema(**{number: {"enum": list(range(_BEST_SCORE + 1))} for number in marks.values()})
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
        if scores is not None:
            cut = "The passages without a score did not fit into the judge's call." if None in scores else ""
            return Relevance(tuple(scores), "model", analysis=cut), state
        in_doubt = self._decide(None, text, state)[0]
        score = None if in_doubt.status else -1.0
        return Relevance((score,) * number, "model", parsed=False, analysis=in_doubt.analysis), state

    def _decide(self, verdict: Verdict | None, text: str, state: State) -> tuple[Verdict, State]:
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
    """Read the verdict in a reply of the model; None if it cannot be read."""
    status, values = read_verdict(text, "status")
    return None if status is None else Verdict(status, "model", str(values.get("analysis") or ""))


def _read_score(value: Any) -> float | None:
    """Read a score from 0 to 10, and return it as one from -1 to 1; None if it cannot be read."""
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
    """Read a truth value as models write it: a boolean, ``Yes``, ``"false"``, 1, ...; None if it cannot be read."""
    if isinstance(value, bool):
        return value
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


def read_verdict(text: str, key: str) -> tuple[bool | None, dict[str, Any]]:
    """Read a verdict from the field ``key`` of a reply, or else from the whole reply; also return its JSON object."""
    field, values = read_field(text, key)
    return read_boolean(text if field is None else field), values
