"""The component that scores the passages of a search, keeps their useful parts, and may search another source.

CRAG has three actions, which depend on the best score: *correct* keeps the passages, *incorrect* replaces them with
passages from the web, and *ambiguous* uses both. Kept passages are cut into strips, which are groups of a few
sentences. Strips that do not help to answer the question are dropped. CRAG calls this refinement.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from operator import itemgetter

from haystack import Document, component

from prefrag.components.block import check_range, check_whole_number
from prefrag.components.both_ways import as_blocking, call_matching
from prefrag.components.generators.json_reply import object_schema, read_object, response_format
from prefrag.components.generators.model_call import ChatGenerator, ModelCall
from prefrag.components.generators.token_budget import Observations
from prefrag.components.judge.judge import Relevance, ScoringJudge
from prefrag.components.prompts.render_prompt import prompt_path
from prefrag.components.state.observation import observe
from prefrag.components.state.places import PAGES, SECTIONS
from prefrag.components.state.state import WHOLE_TEXT, Action, State, Step, Verdict
from prefrag.components.text.one_line import one_line
from prefrag.components.text.sentences import split_strips

# The maximum number of characters of a query that the model writes. A longer query is not used.
MAX_QUERY_CHARACTERS = 200
# The JSON schema of the reply with the query.
_SCHEMA = object_schema(query={"type": "string", "minLength": 3, "maxLength": MAX_QUERY_CHARACTERS})
# The note in the trace of a run without a model.
NOT_REWRITTEN = "The second search used the question itself, because writing keywords needs a language model."
# The line that stands for dropped strips in a passage.
_DROPPED = "..."


@dataclass(frozen=True)
class _Strip:
    """A few consecutive sentences of a passage.

    :param place: The place of the passage among the passages of its search, counted from 0.
    :param text: The sentences.
    :param score: The judge's score, from -1 to 1. None if there is no reliable score.
    """

    place: int
    text: str
    score: float | None = None


@component
class CorrectiveEvaluator:
    """Score the passages of a search, keep their relevant sentences, and decide whether to search elsewhere (CRAG).

    If ``search_source`` is set, the score of the best passage decides the output (sections 4.3 and 4.4 of CRAG):

    - ``kept`` (Correct) if the score is at least ``upper``. No other source is searched.
    - ``incorrect`` if the score is below ``lower``. The passages are dropped, and the pipeline searches
      ``search_source``.
    - ``ambiguous`` for a score between these bounds. The passages are kept, and the pipeline also searches
      ``search_source``.

    The output is also ``kept`` in three other cases:

    - the run is not allowed to search ``search_source``;
    - no passage reaches ``upper``, and some passage has no reliable score;
    - the query would be the user's question itself, and the judge's verdict on all passages is True.

    Without ``search_source``, the component only drops irrelevant sentences, and its only output is ``kept``.

    Usage example:
    ```python
    from haystack import Document
    from prefrag.components.crag.corrective_evaluator import CorrectiveEvaluator
    from prefrag.components.judge.tree_judge import TreeJudge
    from prefrag.components.state.state import Action, RunSettings, Search, State, Step

    found = (Document(content="Heiberg's son was Johan.", meta={"title": "Heiberg"}),)
    step = Step(Action.SEARCH, searches=(Search("local", "Heiberg's son", found),))
    state = State("Who married Heiberg's son?", RunSettings(sources=("local",), preferred="local"), steps=(step,))
    print(CorrectiveEvaluator(TreeJudge()).run(state)["kept"].step.documents)
    ```
    """

    def __init__(
        self,
        judge: ScoringJudge,
        chat_generator: ChatGenerator | None = None,
        search_source: str | None = None,
        upper: float = 0.59,
        lower: float = -0.5,
        strips: int | None = 5,
        strip_threshold: float = -0.5,
        strip_sentences: int = 3,
        prompt: str = "web_keywords",
        generation_kwargs: dict[str, object] | None = None,
    ):
        """Set up the component and its outputs.

        :param judge: The retrieval evaluator, which scores passages and strips from -1 to 1.
        :param chat_generator: The model that rewrites the question into keywords. Only ``search_source`` needs it.
        :param search_source: The other source, which is searched if the passages are not good enough. With None, no
            other source is searched.
        :param upper: If the best passage has at least this score, no other source is searched. From -1 to 1.
        :param lower: If the best passage has a lower score than this, the passages are of no use. From -1 to 1, and at
            most ``upper``.
        :param strips: The maximum number of strips (groups of sentences) to keep for each search. None keeps whole
            passages.
        :param strip_threshold: The score below which a strip is dropped. From -1 to 1.
        :param strip_sentences: The maximum number of sentences in a strip.
        :param prompt: The prompt file for writing the keywords.
        :param generation_kwargs: OpenAI-style parameters. None means temperature 0.1, top_p 0.9 and max_tokens 256.
        :raises ValueError: When the settings contradict each other, or the prompt file does not exist.
        """
        if not callable(getattr(judge, "score", None)):
            raise ValueError(f"judge is {judge!r}: give a judge that scores passages, such as TreeJudge.")
        if search_source is not None and chat_generator is None:
            raise ValueError(f"A search of '{search_source}' needs a model to write its query: set chat_generator.")
        check_range(-1, 1, lower=lower, upper=upper, strip_threshold=strip_threshold)
        if lower > upper:
            raise ValueError(f"lower is {lower} and upper {upper}: set lower to at most upper.")
        check_whole_number(1, strips=strips, strip_sentences=strip_sentences)
        prompt_path(prompt)

        self.judge = judge
        self.chat_generator = chat_generator
        self.search_source = search_source
        self.upper = upper
        self.lower = lower
        self.strips = strips
        self.strip_threshold = strip_threshold
        self.strip_sentences = strip_sentences
        self.prompt = prompt
        self.generation_kwargs = generation_kwargs
        self._call: ModelCall | None = None
        if chat_generator is not None:
            self._call = ModelCall("rewriter", chat_generator, generation_kwargs, max_tokens=256)
        actions: dict[str, type[State]] = {} if search_source is None else {"ambiguous": State, "incorrect": State}
        component.set_output_types(self, **actions, kept=State)

    def warm_up(self) -> None:
        """Prepare the judge and the model.

        :raises TreesMissing: When the judge's file of decision trees is missing.
        """
        self.judge.warm_up()
        if self._call is not None and not self._call.is_absent:
            self._call.warm_up()

    async def run_async(self, state: State) -> dict[str, State]:
        """Evaluate the passages of the last search, and choose the output.

        :param state: The state after a search.
        :returns: The state under ``kept``, ``ambiguous`` or ``incorrect``.
        :raises RunError: When a model fails, or when the judge's reply cannot be read and the judge's ``on_doubt`` is
            ``end``. The error contains the state.
        """
        if self.search_source is None:
            return await self._refine_last(state)
        return await self._evaluate(state, self.search_source)

    run = as_blocking(run_async)

    async def _evaluate(self, state: State, other_source: str) -> dict[str, State]:
        """Choose the action by the scores of the passages (section 4.3 of CRAG), and carry it out.

        The passages are refined if the action is ``correct`` or ``ambiguous``. With ``in doubt`` (some passage has no
        reliable score), they are shown whole. With ``incorrect``, they are shown only if the other source is not
        searched in their place.
        """
        search = state.step.searches[-1]
        relevance = Relevance((), "nothing_found")
        if search.documents:
            relevance, state = await self._score(state, search.documents)

        action, reason = self._choose_action(relevance, search.source)
        searches_other = action in ("ambiguous", "incorrect")
        if searches_other and other_source not in state.settings.sources:
            searches_other = False
            reason = f"{reason} This run is not allowed to search {other_source}."

        can_write_query = self._call is not None and not self._call.is_absent
        # Before the question itself is sent to another machine, the judge gives a verdict on all passages together.
        would_send_question = searches_other and not can_write_query and state.takes_question(other_source)
        if would_send_question and search.documents:
            verdict, state = await call_matching(self.judge.judge, self.judge.judge_async, state)
            searches_other = not verdict.status
            reason = f"{reason} {verdict.analysis}"
        state = _record_action(state, action, reason, relevance)

        # The passages are shown to the model, unless they are useless and another source is searched instead.
        refines = action in ("correct", "ambiguous")
        if refines or not searches_other:
            documents = search.documents
            if refines:
                documents, state = await self._refine(state, documents, relevance.scores)
            state = observe(state, documents, search.source if documents else None)
        if not searches_other:
            return {"kept": state}

        query, state = await self._write_query(state)
        state = state.with_step(Step(Action.SEARCH, query=query))
        state = state.with_event("search", source=other_source, query=state.query_for(other_source))
        return {action: state}

    async def _refine_last(self, state: State) -> dict[str, State]:
        """Refine the passages of the last search.

        If the last search found nothing and the model has seen no passages yet, the passages of an earlier search are
        shown whole.
        """
        search = state.step.searches[-1]
        documents = search.documents
        if documents:
            documents, state = await self._refine(state, documents, (None,) * len(documents))
        elif not state.retrieved:
            successful_searches = [earlier for earlier in state.searches if earlier.documents]
            search = successful_searches[-1] if successful_searches else search
            documents = search.documents
        return {"kept": observe(state, documents, search.source if documents else None)}

    def _choose_action(self, relevance: Relevance, source: str) -> tuple[str, str]:
        """Choose the action by the scores of the passages, and say why.

        The action is ``correct``, ``incorrect``, ``ambiguous`` or ``in doubt``. ``in doubt`` means that no passage
        reaches ``upper`` and some passage has no reliable score.
        """
        scores = [score for score in relevance.scores if score is not None]
        if not relevance.scores:
            return "incorrect", f"{source} gave no passages."
        if scores and max(scores) >= self.upper:
            return "correct", f"The best passage scores {max(scores):.2f}, at least {self.upper:g}."
        if len(scores) < len(relevance.scores):
            unscored = len(relevance.scores) - len(scores)
            reason = f"{unscored} of {len(relevance.scores)} passages have no score to rely on"
            if relevance.analysis:
                return "in doubt", f"{reason}: {relevance.analysis}"
            return "in doubt", f"{reason}."
        if max(scores) < self.lower:
            return "incorrect", f"The best passage scores {max(scores):.2f}, under {self.lower:g}."
        return "ambiguous", f"The best passage scores {max(scores):.2f}, between {self.lower:g} and {self.upper:g}."

    async def _refine(
        self, state: State, documents: Sequence[Document], scores: Sequence[float | None]
    ) -> tuple[tuple[Document, ...], State]:
        """Cut passages into strips, and keep the best strips (section 4.4).

        At least one strip with a score is kept, if there is any, and all strips without a score.

        :param state: The state after the search.
        :param documents: The passages of the search.
        :param scores: The score of each passage; None if it has no reliable score.
        :returns: The passages with the strips that are kept, and the state with the judge's calls added.
        """
        if self.strips is None:
            return tuple(documents), state

        strips: list[_Strip] = []
        for place, (document, score) in enumerate(zip(documents, scores, strict=True)):
            texts = split_strips(document.content or "", self.strip_sentences) or [""]
            # The score of a passage is also the score of its strip, but only if the passage has a single strip.
            strip_score = score if len(texts) == 1 else None
            strips += [_Strip(place, text, strip_score) for text in texts]

        judged_by = ""
        parsed = True
        unscored = [number for number, strip in enumerate(strips) if strip.score is None]
        if unscored:
            passages = [_as_document(documents, strips[number]) for number in unscored]
            relevance, state = await self._score(state, passages)
            judged_by = relevance.judged_by
            parsed = relevance.parsed
            # If the scores could not be read, they are only defaults. So no strip is dropped because of them.
            if parsed:
                for number, score in zip(unscored, relevance.scores, strict=True):
                    strips[number] = replace(strips[number], score=score)

        chosen = self._select(strips)
        trace_of_strips = []
        for number, strip in enumerate(strips):
            title = _title(documents[strip.place])
            trace_of_strips.append({"title": title, "score": strip.score, "kept": number in chosen})
        source = state.step.searches[-1].source
        state = state.with_event("strips", source=source, judged_by=judged_by, parsed=parsed, strips=trace_of_strips)
        return _recompose(documents, strips, chosen), state

    def _select(self, strips: Sequence[_Strip]) -> set[int]:
        """Choose the numbers of the strips to keep."""
        assert self.strips is not None
        without_score = {number for number, strip in enumerate(strips) if strip.score is None}
        with_score = [(number, strip.score) for number, strip in enumerate(strips) if strip.score is not None]
        # Strips with equal scores stay in the order of the text.
        best_first = sorted(with_score, key=itemgetter(1), reverse=True)
        chosen = [number for number, score in best_first[: self.strips] if score >= self.strip_threshold]
        if not chosen:
            # The best strip is always kept.
            chosen = [number for number, _ in best_first[:1]]
        return without_score.union(chosen)

    async def _write_query(self, state: State) -> tuple[str, State]:
        """Rewrite the question into keywords for a search engine (section 4.5).

        The query is the question itself if there is no model, or if the model's reply cannot be read.
        """
        assert self._call is not None
        question = state.question
        if self._call.is_absent:
            return question, state.with_event("without_model", text=NOT_REWRITTEN)

        def values(_: Observations) -> dict[str, object]:
            """Return the variables of the prompt, which contains no passages."""
            return {"question": question}

        schema = response_format("keywords", _SCHEMA)
        call = self._call.prepare(state, self.prompt, [], values, response_format=schema)
        query, _, state = await self._call.send_until_read_async(call, _read_query)
        if query is None:
            return question, state.with_event("unreadable", caller=self._call.caller)
        return query, state

    async def _score(self, state: State, passages: Sequence[Document]) -> tuple[Relevance, State]:
        """Let the judge score passages or strips."""
        return await call_matching(self.judge.score, self.judge.score_async, state, passages)


def _record_action(state: State, action: str, reason: str, relevance: Relevance) -> State:
    """Record the action as the verdict of the step, and with all scores in the trace."""
    search = state.step.searches[-1]
    analysis = f"{action.capitalize()}: {reason}"
    verdict = Verdict(action != "incorrect", relevance.judged_by, analysis, parsed=relevance.parsed)
    scores = []
    for document, score in zip(search.documents, relevance.scores, strict=True):
        scores.append({"title": _title(document), "score": score})
    return state.with_last(verdict=verdict).with_event(
        "evaluated",
        source=search.source,
        action=action,
        reason=reason,
        judged_by=relevance.judged_by,
        parsed=relevance.parsed,
        scores=scores,
    )


def _recompose(documents: Sequence[Document], strips: Sequence[_Strip], chosen: set[int]) -> tuple[Document, ...]:
    """Make the passages anew from their chosen strips. A passage without a chosen strip is dropped.

    For example, a passage of four strips of which the first and the last are chosen becomes three lines: the first
    strip, "..." and the last strip.
    """
    recomposed = []
    for place, document in enumerate(documents):
        numbers = [number for number, strip in enumerate(strips) if strip.place == place]
        if chosen.issuperset(numbers):
            recomposed.append(document)
        elif not chosen.isdisjoint(numbers):
            texts = [strips[number].text if number in chosen else _DROPPED for number in numbers]
            # Several dropped strips side by side leave only one line with dots.
            content = "\n".join(text for text, _ in groupby(texts))
            # The metadata keep the whole text. It identifies the passage in citations, whatever strips are kept. The
            # places of sections and pages are left out, because they are right only in the whole text.
            meta = {**document.meta, WHOLE_TEXT: document.content, SECTIONS: "", PAGES: ""}
            recomposed.append(replace(document, content=content, meta=meta))
    return tuple(recomposed)


def _as_document(documents: Sequence[Document], strip: _Strip) -> Document:
    """Make a document of a strip, with the id and the title of its passage, for the judge."""
    whole = documents[strip.place]
    return Document(id=whole.id, content=strip.text, meta={"title": whole.meta.get("title") or ""})


def _title(document: Document) -> str:
    """Return the title of a passage, or its id if it has no title."""
    return str(document.meta.get("title") or document.id)


def _read_query(text: str) -> str | None:
    """Read the query from a reply; None if there is none, or if it is too short or too long.

    For example, ``{"query": "aurora  builder"}`` gives "aurora builder".
    """
    values = read_object(text, "query") or {}
    query = values.get("query")
    if not isinstance(query, str):
        return None
    words = one_line(query)
    return words if 3 <= len(words) <= MAX_QUERY_CHARACTERS else None
