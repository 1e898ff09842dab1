"""The component that builds the state of a run from a question and the options of its request.

It is the first component of a pipeline. It checks the question and the options, and decides which sources the run may
search.
"""

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, Protocol, get_args

from haystack import component

from prefrag.components.block import check_choice, check_whole_number
from prefrag.components.both_ways import in_thread_async
from prefrag.components.prompts.prompt_folder import check_prompts
from prefrag.components.state import request_limits
from prefrag.components.state.attached import attach
from prefrag.components.state.run_options import OWN_FILES, STATE, AnswerType, RunOptions, read_options
from prefrag.components.state.state import AskBack, RunSettings, State
from prefrag.components.state.web_switch import explain_closed, web_setting
from prefrag.components.text.question_topic import names_nothing
from prefrag.components.text.sentences import cut_text
from prefrag.errors import BadInput
from prefrag.settings import settings as of_environment

# The user gets this text instead of an answer to a question that names nothing, such as "What is in here?".
ASK_ABOUT_DOCUMENTS = (
    "Ask what your documents say, such as when something opens, what it costs, or who wrote it; the answer shows the "
    "sentence."
)
# The numbers of documents, steps and supplements may be at most this. A larger number is probably a typing error, and
# would fill the prompts of a run.
_MOST = 50


class Rules(Protocol):
    """What the sources and indexes of a pipeline allow to each run. The application's rules are `SourceRules`."""

    @property
    def external_sources(self) -> list[str]:
        """The names of the external sources in the pipeline."""

    def bind(self, pipeline: object) -> None:
        """Read the sources and indexes of a pipeline.

        :param pipeline: The Haystack pipeline.
        """

    def find_closed(self, external: Iterable[str]) -> tuple[set[str], str]:
        """Find the external sources that no run may search.

        :param external: The names of the external sources.
        :returns: The names of those that are closed, and the reason.
        """

    def find_leaving(self, external: Iterable[str]) -> set[str]:
        """Find the external sources whose queries are sent to other machines.

        :param external: The names of the external sources.
        :returns: The names of those whose queries leave this machine.
        """

    def find_stated_from(self) -> Mapping[str, float]:
        """Find the least probability, from 0 to 1, of an answer that is called stated.

        :returns: The probability for what answers: ``reader`` or ``model``. Empty if the usual limits apply.
        """

    def narrow(self, wanted: Mapping[str, object], filters: Mapping[str, object] | None) -> dict[str, object]:
        """Make the filter for the folders, kinds and dates that a user wrote.

        :param wanted: The options ``folders``, ``kinds``, ``since`` and ``until`` that are set.
        :param filters: A further filter that the request sets, or None.
        :returns: A Haystack metadata filter that combines both.
        """

    def describe_documents(self) -> str:
        """Write how many files the indexes have, of which kinds they are, and from when.

        :returns: The text for the user.
        """


@component
class StateBuilder:
    """Build the state at the start of a run, from the pipeline's settings and the options of the request.

    ### Usage example

    ```python
    from prefrag.components.state.state_builder import StateBuilder

    start = StateBuilder(sources=["local", "web"], preferred="local", external_sources=["web"])
    print(start.run(question="Who designed the Aurora log?", sources=["local"])["state"].settings)
    ```
    """

    def __init__(
        self,
        sources: Sequence[str],
        preferred: str | None,
        external_sources: Sequence[str] = (),
        top_k: int = 5,
        max_steps: int = 3,
        max_supplements: int = 1,
        max_top_k: int = 20,
        prompts: str = "product",
        answer_type: AnswerType = "short",
        first_query: Literal["question", "model"] = "question",
        rules: Rules | None = None,
    ):
        """Set up the component.

        :param sources: The names of the sources, in the order in which they are tried.
        :param preferred: The source that is searched first. None if there are no sources, because nothing is retrieved.
        :param external_sources: The sources that are searched only if the web is allowed. ``PREFRAG_WEB`` decides this.
            If it is not set, the choice that is stored with the index decides.
        :param top_k: The number of documents per retrieval (3, 5 and 7 in the paper).
        :param max_steps: The number of steps that the prompt allows. A run may take one more (appendix B.3).
        :param max_supplements: How often a run may search once more after the model labelled its answer as not correct.
        :param max_top_k: The highest `top_k` that a request may set.
        :param prompts: The set of prompts. ``product`` asks for citations, and for answers from the passages alone.
            ``plain`` asks for neither. It is for measurements. Any other value is a folder, whose prompts replace those
            of ``plain`` (docs/prompts.md).
        :param answer_type: The kind of answer to the questions: ``short``, ``yes_no``, ``multiple_choice`` (table 19).
        :param first_query: ``question``: the question itself is the first query, before any call to a model. ``model``:
            the model writes the first query. If the prompts are not ``product``, the model always writes it.
        :param rules: What the sources and indexes of the pipeline allow. None allows nothing: an external source is
            closed unless ``PREFRAG_WEB`` opens it, and a run cannot be limited to some files.
        :raises ValueError: If the settings contradict each other, or a number is greater than 50.
        """
        _check_sources(sources, preferred, external_sources)
        check_whole_number(1, _MOST, top_k=top_k, max_top_k=max_top_k)
        check_whole_number(0, _MOST, max_steps=max_steps, max_supplements=max_supplements)
        check_prompts(prompts)
        check_choice(get_args(AnswerType), answer_type=answer_type)
        check_choice(("question", "model"), first_query=first_query)
        self.sources = list(sources)
        self.preferred = preferred
        self.external_sources = list(external_sources)
        self.top_k = top_k
        self.max_steps = max_steps
        self.max_supplements = max_supplements
        self.max_top_k = max(max_top_k, top_k)
        self.prompts = prompts
        self.answer_type: AnswerType = answer_type
        self.first_query = first_query
        for name in STATE:
            kind: object = RunOptions.model_fields[name].annotation
            if name in ("history", "documents"):
                # Other components pass turns and documents as dictionaries of plain texts.
                kind = list[dict[str, str]] | None
            component.set_input_type(self, name, kind, None)
        self.rules = rules

    @component.output_types(state=State)
    def run(self, question: str, **options: Any) -> dict[str, State]:
        """Build the state at the start of a run. A request's option replaces the pipeline's setting, within limits.

        :param question: The question, at most 4,000 characters and 4,500 bytes.
        :param options: Any of :data:`prefrag.components.state.run_options.STATE`. Each is an input of the component.
        :returns: ``state``, which has no steps yet.
        :raises ValueError: If the question is empty, too long or not text, or if an option is not allowed.
        :raises AskBack: If the question names nothing, such as "What is in here?". The message says what can be asked.
        """
        self.bind()
        question = request_limits.check_question(question)

        # The limits of these options are checked before anything copies or processes them.
        history = request_limits.keep_newest_turns(options.pop("history", None))
        attached = attach(options.pop("documents", None) or ())
        request_limits.check_filters(options.get("filters"))
        instructions = request_limits.check_instructions(options.pop("instructions", None))
        wanted = read_options(options, STATE)

        closed, reason = self.closed_sources()
        # The options of the request that limit the run to some of the user's own files.
        file_options = {name: wanted[name] for name in OWN_FILES if wanted.get(name)}
        if file_options:
            if self.rules is None:
                names = ", ".join(file_options)
                raise BadInput(f"This pipeline cannot select files by {names}: leave these options out.")
            closed = set(self.external_sources)
            reason = "the question is narrowed to some of your own files"
            wanted["filters"] = self.rules.narrow(file_options, wanted.get("filters"))
        stated_from = self.rules.find_stated_from() if self.rules else {}
        limit = request_limits.MAX_INSTRUCTIONS_CHARACTERS
        settings = replace(
            self._make_settings(wanted, closed, reason),
            stated_from=tuple(sorted(stated_from.items())),
            instructions=cut_text(instructions, limit),
        )

        turns = tuple((turn["role"], turn["content"]) for turn in history)
        state = State(question, settings, history=turns, started=time.perf_counter(), attached=attached)
        if len(instructions) > limit:
            state = state.with_event("instructions_cut", characters=len(instructions), kept=limit)

        # A question that names nothing is asked back. Earlier turns, documents or a filter may say what it does not
        # say, so with these it is not asked back. Nor is it with other prompts, which are for measurements.
        may_ask_back = self.prompts == "product" and not (turns or attached or settings.filters)
        if self.rules is not None and may_ask_back and names_nothing(question):
            question_back = f"{ASK_ABOUT_DOCUMENTS} {self.rules.describe_documents()}".strip()
            raise AskBack(question_back, state.with_event("asked_back", text=question_back))

        closed_but_wanted = [name for name in wanted.get("sources", self.sources) if name in closed]
        if closed_but_wanted:
            state = state.with_event("closed", sources=closed_but_wanted, reason=reason)
        return {"state": state}

    def _reads_index(self, *_: object, **options: object) -> bool:
        """Check whether `run` will read an index.

        It reads one to know whether the user has allowed the web, to describe the documents, or to make a filter.
        """
        if any(map(options.get, OWN_FILES)):
            return True
        if self.rules is None:
            return False
        return web_setting() is None or names_nothing(str(options.get("question")))

    # Runs in a thread if `run` will read an index, because the index may be on a server.
    run_async = in_thread_async(run, when=_reads_index)

    def bind(self, pipeline: object = None) -> None:
        """Tell the rules which pipeline they are for, and read its external sources. ``run`` does this as well.

        :param pipeline: The Haystack pipeline. None stands for the pipeline to which this component was added.
        :raises ValueError: If a component of the pipeline would search the web without checks.
        """
        # Haystack keeps the pipeline of a component under this name.
        pipeline = pipeline or getattr(self, "__haystack_added_to_pipeline__", None)
        if self.rules is None or pipeline is None:
            return
        self.rules.bind(pipeline)
        external = {*self.external_sources, *self.rules.external_sources}
        self.external_sources = [name for name in self.sources if name in external]

    def closed_sources(self) -> tuple[set[str], str]:
        """Find the external sources that no run may search at the moment.

        :returns: The names of the closed sources, and the reason.
        """
        setting = web_setting()
        if setting is None and self.rules is not None:
            return self.rules.find_closed(self.external_sources)
        is_closed = setting is None or setting == "off"
        closed = set(self.external_sources) if is_closed else set()
        return closed, explain_closed()

    def _make_settings(self, wanted: Mapping[str, Any], closed: set[str], reason: str) -> RunSettings:
        """Make the settings of a run: those of the pipeline, except where the request sets an option.

        ``reason`` says why the ``closed`` sources may not be searched. An option that is not allowed raises ValueError.
        """
        allowed = self._allowed_sources(wanted.get("sources", self.sources), closed, reason)
        preferred = self._first_source(wanted.get("preferred"), allowed, closed, reason)
        top_k = wanted.get("top_k", self.top_k)
        max_steps = wanted.get("max_steps", self.max_steps)
        if not 1 <= top_k <= self.max_top_k:
            raise ValueError(f"top_k is {top_k}: ask for 1 to {self.max_top_k} documents.")
        if not 0 <= max_steps <= self.max_steps:
            raise ValueError(f"max_steps is {max_steps}: ask for 0 to {self.max_steps} steps.")

        # The sources to which only the question as typed is sent.
        typed_only: list[str] = []
        leaving = self.rules.find_leaving(self.external_sources) if self.rules else set(self.external_sources)
        if of_environment.web_queries == "question":
            typed_only = [name for name in self.external_sources if name in leaving]
        return RunSettings(
            sources=allowed,
            preferred=preferred,
            top_k=top_k,
            max_steps=max_steps,
            max_supplements=self.max_supplements,
            filters=wanted.get("filters"),
            external=tuple(self.external_sources),
            typed_only=tuple(typed_only),
            prompts=self.prompts,
            answer_type=wanted.get("answer_type", self.answer_type),
            first_query=self.first_query,
        )

    def _allowed_sources(self, wanted: Sequence[str], closed: set[str], reason: str) -> tuple[str, ...]:
        """Return the sources that a run may search, in the pipeline's order. Without any, raise ValueError."""
        for name in wanted:
            if name not in self.sources:
                raise ValueError(f"There is no source {name!r}: {self._choice()}.")
        allowed = tuple(name for name in self.sources if name in wanted and name not in closed)
        if self.sources and not allowed:
            why = reason if closed.intersection(wanted) else "the request allows none"
            still_open = [name for name in self.sources if name not in closed]
            advice = "This pipeline has no other source: use another pipeline."
            if still_open:
                names = ", ".join(still_open)
                advice = f"Allow one of: {names}."
            raise ValueError(f"No source is left to search: {why}. {advice}")
        return allowed

    def _first_source(self, wanted: str | None, allowed: tuple[str, ...], closed: set[str], reason: str) -> str:
        """Return the source that a run searches first.

        It is the source that the request prefers or, without one, the source that the pipeline prefers. If the
        pipeline's source is not allowed, it is the first allowed source.
        """
        if wanted is not None and wanted not in self.sources:
            raise ValueError(f"There is no source '{wanted}': {self._choice()}.")
        first = wanted or self.preferred or ""
        if not allowed or first in allowed:
            return first
        if wanted is not None:
            allowed_names = ", ".join(allowed)
            why = f": {reason}" if first in closed else ""
            raise ValueError(f"'{first}' cannot be preferred: this run may search {allowed_names} only{why}.")
        return allowed[0]

    def _choice(self) -> str:
        """Write which sources can be chosen, as the end of an error message."""
        if not self.sources:
            return "this pipeline retrieves nothing"
        names = ", ".join(self.sources)
        return f"choose from {names}"


def _check_sources(sources: Sequence[str], preferred: str | None, external_sources: Sequence[str]) -> None:
    """Raise ValueError if the names of the sources contradict each other."""
    has_duplicates = len(set(sources)) < len(sources)
    lacks_preferred = not sources and preferred is not None
    if has_duplicates or lacks_preferred:
        raise ValueError("`sources` must contain no name twice, and at least one name unless `preferred` is null.")
    if sources and preferred is None:
        raise ValueError(f"`preferred` is not set: name one of the sources {list(sources)}.")
    if preferred is not None and preferred not in sources:
        raise ValueError(f"The preferred source '{preferred}' is not among the sources {list(sources)}.")
    unknown = set(external_sources) - set(sources)
    if unknown:
        raise ValueError(f"external_sources names {sorted(unknown)}, but the sources are {list(sources)}.")
