"""The component that takes the next step of a run: a search or an answer.

A language model takes the step. Without a model, or if the model fails, the extractive reader takes it: a small program
that finds answers in the passages. A run with the prompts ``product`` (those for users) has further rules: it searches
before it answers, and code checks each answer of the model. What follows depends on the model:

- If an able model gives no answer, such as NOT FOUND, the step becomes a search, if one is left.
- If a small model's answer is not likely enough, the extractive reader is asked as well. Then the run searches once
  more, or the model has to answer over the same passages. At the end, the likeliest answer is given.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any, Literal

from haystack import Document, component
from haystack.dataclasses import ChatMessage

from prefrag.components.both_ways import as_blocking, call_matching
from prefrag.components.generators.model_call import ChatGenerator, ModelCall, PreparedCall, may_go_on
from prefrag.components.generators.token_budget import Observations
from prefrag.components.generators.token_probabilities import mean_logprob
from prefrag.components.prompts.quotation import defuse_tokens
from prefrag.components.prompts.render_prompt import own_text, prompt_path, put_instructions
from prefrag.components.reader.answer_carrier import is_refusal, is_verdict
from prefrag.components.reader.document_choice import choose_documents
from prefrag.components.reader.reader import Candidate, Judgement, Reader
from prefrag.components.reasoner.answer_check import (
    ACCEPTED,
    GIVEN,
    AnswerCheck,
    AnswerSigns,
    check_answer,
    is_undecided,
    needs_confirmation,
)
from prefrag.components.reasoner.answer_confirmation import ask_to_confirm, can_confirm
from prefrag.components.reasoner.answer_format import ANSWER_FORMATS, CITED, OR_NOT_FOUND, AnswerFormat
from prefrag.components.reasoner.product_rules import UNREAD, add_search, replace_repeated, says_not_found
from prefrag.components.reasoner.proposals import choose_given, choose_likeliest, keep_after, write_check
from prefrag.components.reasoner.reader_step import next_query, take_reader_step
from prefrag.components.reasoner.reply_formats import FORMATS, JsonFormat, ReplyFormat, Tool, Turn
from prefrag.components.reasoner.reply_formats.fields import shorten
from prefrag.components.reasoner.reply_formats.reply_format import add_from_user
from prefrag.components.reasoner.reply_formats.steps_format import ASK_QUERY, MUST_ANSWER, StepsFormat
from prefrag.components.state.citations import cite_plainly, known_marks, prompt_marks, read_citations, without_codes
from prefrag.components.state.passages import passages
from prefrag.components.state.plain_marks import add_codes
from prefrag.components.state.state import Action, Identity, RunError, State, Step, identity

# The only tool in the papers. The router chooses the source.
SEARCH_ENGINE = Tool(
    "Search_Engine",
    "A search engine over a knowledge base, "
    "for looking up facts about people, places, works, events and anything else.",
)
# The trace has this text if tools name sources, but there is no model to choose a tool.
SOURCE_NOT_CHOSEN = "There is no language model to choose a source, so the preferred source is searched first."
# A small model is told this after a reply that could not be read.
AGAIN = "Your last reply could not be read. Reply with the answer alone, in a few words, or NOT FOUND."
# The actions of replies from which neither a search nor an answer could be read.
_UNUSABLE = (Action.UNREADABLE, Action.UNKNOWN_ACTION)
# A small model is shown at most this number of retrieved passages, because it answers better from few.
MOST_SHOWN = 6
# If code has no query, a small model is asked for one until its run has this number of steps.
_FEWEST_SEARCHES = 2


@component
class Reasoner:
    """Take the next step of a run: a thought, and a search or an answer (section 3.2 of PrefRAG).

    The model sees the transcript of the earlier steps. If its reply contains several steps, only the first is kept.
    Without a model, an extractive reader takes the step. It answers if an answer is likely enough. Otherwise it
    searches.

    ### Usage example

    ```python
    from prefrag.components.generators.chat_model import ChatModel
    from prefrag.components.reasoner.reasoner import Reasoner
    from prefrag.components.state.state import RunSettings, State

    reasoner = Reasoner(chat_generator=ChatModel())
    reasoner.warm_up()
    state = State("Who designed the Aurora log?", RunSettings(sources=("local",), preferred="local"))
    print(reasoner.run(state=state)["state"].step)
    ```
    """

    def __init__(
        self,
        chat_generator: ChatGenerator,
        reader: Reader | None = None,
        reply_format: Literal["auto", "text", "json", "steps", "tools", "cot", "published"] = "auto",
        tools: Sequence[Tool | dict[str, Any]] | None = None,
        answer_format: str | AnswerFormat | dict[str, Any] | None = None,
        must_answer: bool = False,
        prompt: str | None = None,
        generation_kwargs: dict[str, object] | None = None,
        self_evaluation: bool = True,
        commonsense: bool = False,
    ):
        """Set up the component.

        :param chat_generator: The model, any Haystack chat generator.
        :param reader: The extractive reader. It takes the steps if no model is set up, or if the model has failed. In a
            run with the prompts ``product``, it also helps to decide how sure a model's answer is, and a repeated query
            is replaced. None means that the model's steps are taken as they are.
        :param reply_format: The format of the model's replies.

            - ``text``: the format of the papers, a line for each field;
            - ``published``: the same format, read as the code of PrefRAG's authors reads it;
            - ``json``: a JSON object that a schema constrains, for small models;
            - ``steps``: one narrow question per call, for small models;
            - ``tools``: the function calling of the chat API;
            - ``cot``: a chain of thought (IRCoT), in which each reply is a sentence and the next query;
            - ``auto``: the format that suits the model. If ``steps`` would suit a model file on this machine, but this
              component cannot use ``steps``, it is ``json``.
        :param tools: The search actions that the model can choose, each with a name, a description and the source to
            search. Without a source, the router chooses one. None offers only the paper's ``Search_Engine``.
        :param answer_format: What a final answer looks like: an :class:`AnswerFormat`, its fields as a dictionary, or
            only its ``words``. None stands for the defaults of :class:`AnswerFormat`.
        :param must_answer: If True, the model must answer and cannot search, as in the call at the end of a run.
        :param prompt: The prompt file. None stands for the prompt of the reply format. Two shipped prompts are for
            ``must_answer``: ``answer_once`` asks only for the answer. ``answer_with_analysis`` asks for an analysis and
            then the answer (table 9 of DR-RAG). If a prompt ends with ``Thought:``, the reply begins with a thought. So
            only the text in its final answer field counts as the answer.
        :param generation_kwargs: OpenAI-style parameters. None stands for temperature 0.1 and top_p 0.9 (section 4.3).
        :param self_evaluation: If True, the model labels its own answer as correct or not (section 3.3).
        :param commonsense: If True, thoughts may add commonsense knowledge (MSPR, III.B). With the prompts
            ``product``, this is never allowed.
        :raises ValueError: If the format is unknown, two tools have the same name, the prompt file does not exist, or
            the format is ``steps`` and there is no reader.
        """
        if str(reply_format) == "guided":
            raise ValueError("reply_format is 'guided', which no longer exists: write steps, or auto.")
        if reply_format not in ("auto", *FORMATS):
            raise ValueError(f"reply_format is '{reply_format}': set it to auto, {' or '.join(FORMATS)}.")

        offered = [tool if isinstance(tool, Tool) else Tool(**tool) for tool in tools or [SEARCH_ENGINE]]
        if len({tool.name for tool in offered}) < len(offered):
            raise ValueError("Two tools have the same name: give each tool a different name.")
        if reply_format == "steps" and reader is None:
            raise ValueError("reply_format is 'steps', in which a reader checks the answers: set `reader`.")
        if prompt is not None:
            prompt_path(prompt)
        if isinstance(answer_format, str):
            answer_format = AnswerFormat(words=answer_format)
        elif not isinstance(answer_format, AnswerFormat):
            answer_format = AnswerFormat(**(answer_format or {}))

        # When Haystack saves a pipeline, it reads these attributes, which must be plain values.
        self.tools = [asdict(tool) for tool in offered]
        self.chat_generator = chat_generator
        self.reader = reader
        self.reply_format = reply_format
        self.answer_format = asdict(answer_format)
        self.must_answer = must_answer
        self.prompt = prompt
        self.generation_kwargs = generation_kwargs
        self.self_evaluation = self_evaluation
        self.commonsense = commonsense
        self._tools = offered
        self._answer = answer_format
        self._call = ModelCall("reasoner", chat_generator, generation_kwargs)

    def warm_up(self) -> None:
        """Load the model or connect to its server. If no model is set up, load the extractive reader."""
        reader = self._reader
        if reader is None:
            self._call.warm_up()
        elif hasattr(reader, "warm_up"):
            reader.warm_up()

    @component.output_types(state=State)
    async def run_async(self, state: State) -> dict[str, State]:
        """Take the next step.

        :param state: The state so far.
        :returns: ``state`` with the new step. It is unchanged after the run's last search.
        :raises RunError: If the model fails, and no reader can go on. The error has the state.
        """
        if state.last_search and not self.must_answer:
            return {"state": state}

        if self._reader is not None or (self.reader is not None and state.model_failed):
            return {"state": await self._read_on(state)}

        # The format is chosen once for a run. What is known about the model may change while the run goes on.
        if not state.reply_format:
            reason = str(getattr(self.chat_generator, "format_reason", None) or "")
            state = replace(state, reply_format=self._suited_format, format_reason=reason)

        if self._searches_question_first(state):
            return {"state": add_search(state, self._choose_format(state), self._find_tool(state), state.question)}
        query = self._query_between_calls(state)
        if query:
            return {"state": add_search(state, self._choose_format(state), self._find_tool(state), query)}

        try:
            return {"state": await self._ask(state)}
        except RunError as error:
            if self.reader is None or not may_go_on(error, state):
                raise
            failed = replace(error.state, steps=state.steps).with_event("model_failed", message=str(error))
            return {"state": choose_given(await self._read_on(failed))}

    run = as_blocking(run_async)

    def _searches_question_first(self, state: State) -> bool:
        """Check whether the run begins with a search for the question itself, before any call to the model."""
        settings = state.settings
        if state.steps or self.must_answer or not settings.sources:
            return False
        is_wanted = settings.first_query == "question" and settings.prompts == "product"
        return is_wanted and self._choose_format(state).searches

    def _query_between_calls(self, state: State) -> str | None:
        """Return the query of a search that is made without a call to the small model. None if the model is to read.

        A small model reads the passages after the first search and after the last search. Between these, only searches
        are made, because a call over the passages takes longer than a search.
        """
        is_narrow = self._choose_format(state).asks_narrowly and state.settings.prompts == "product"
        has_read = any(event.kind == "checked" for event in state.events)
        if not is_narrow or not has_read or self.must_answer:
            return None
        if self._replies_left(state) <= 0 or state.step.action in _UNUSABLE:
            return None
        return next_query(state)

    @staticmethod
    def _replies_left(state: State) -> int:
        """Count for how many more replies of the model the run has room."""
        return state.settings.max_steps + state.supplements - state.replies

    async def _ask(self, state: State) -> State:
        """Have the model take the step. In a run with the prompts ``product``, apply the rules for these runs."""
        was_unusable = bool(state.steps) and state.step.action in _UNUSABLE
        further = ""
        if was_unusable and self._choose_format(state).asks_narrowly:
            # A small model sees no transcript. So it does not see the router's note that its last reply could not be
            # read.
            further = AGAIN
        after = await self._send(state, further)
        if state.settings.prompts != "product" or self.reader is None:
            return after

        # After two replies that could not be read, the extractive reader goes on.
        if after.step.action in _UNUSABLE and self.must_answer:
            after = await self._send(replace(after, steps=state.steps), AGAIN)
        is_second = was_unusable or self.must_answer
        if is_second and after.step.action in _UNUSABLE:
            without_reply = replace(after, steps=state.steps)
            return await self._read_on(without_reply.with_event("model_failed", message=UNREAD))

        # An answer before the first search is replaced by a search for the question.
        form = self._choose_format(state)
        ends_searches = after.step.action in (Action.ANSWER, Action.NONE)
        can_search = bool(state.settings.sources) and form.searches and not self.must_answer
        if ends_searches and can_search and not state.searches:
            return add_search(replace(after, steps=state.steps), form, self._find_tool(state), state.question)

        if after.step.action is Action.ANSWER and (state.observed or state.searches):
            return await self._settle_answer(state, after)
        return replace_repeated(after, form, self._choose_tools(state))

    async def _send(self, state: State, further: str = "") -> State:
        """Call the model, and read its reply as a step. ``further`` is a question instead of that for the next step."""
        call = self._prepare(state, further)
        message, after_call = await self._call.send_for_message_async(call)
        return self._read(call, message, after_call)

    async def _settle_answer(self, state: State, after: State) -> State:
        """Decide how sure an answer is.

        An answer that gives nothing, such as NOT FOUND, becomes a search, if this is not the end and a query is left.
        ``state`` is the state before the answer, and ``after`` the state with the answer.
        """
        if self._choose_format(state).asks_narrowly:
            return await self._settle_narrowly(state, after)
        check = await self._check(after, state.observed)
        after = write_check(after, check, self._answer.cite)
        if check is not None or self.must_answer:
            return after
        query = next_query(state)
        if query is None:
            return after
        return self._search_instead(state, after, query)

    async def _settle_narrowly(self, state: State, after: State) -> State:
        """Decide about the answer of a small model.

        An answer that is likely enough ends the run. Otherwise the extractive reader's answer is taken if it is sure.
        Otherwise the run searches once more and keeps the weak answer as a proposal. If no search is left, the model
        may be asked to confirm its answer, and the likeliest of the proposals is given.
        """
        documents = self._choose_shown(state)
        answer_signs = AnswerSigns(mean_logprob=after.step.mean_logprob)
        check = await self._check(after, documents, answer_signs)
        after = write_check(after, check, self._answer.cite)
        if (after.step.probability or 0.0) >= ACCEPTED:
            return after

        reader_state = await self._read_surely(state, after)
        if reader_state is not None:
            return reader_state

        searched, after = await self._search_further(state, after)
        if searched is not None:
            return searched

        if after.step.probability is None:
            return await self._ask_to_answer(state, after, documents)
        return choose_likeliest(await self._confirm(after, documents, answer_signs))

    async def _search_further(self, state: State, after: State) -> tuple[State | None, State]:
        """Return a step with a further search in place of a small model's weak answer. None if there is no new query.

        Code makes the query. If it has none and the run has made few searches, the model is asked for a query. The
        second state is ``after``, with what a call for a query has cost.
        """
        if self.must_answer or self._replies_left(state) <= 0:
            return None, after

        query = next_query(state)
        reached = after
        by_code = True
        if query is None and state.replies < _FEWEST_SEARCHES:
            reached, query = await self._ask_for_query(state, after)
            by_code = False
        if not query:
            return None, reached

        searched = self._search_instead(state, reached, query, by_code)
        return (searched if searched.step.action is Action.SEARCH else None), reached

    async def _ask_to_answer(self, state: State, after: State, documents: Sequence[Document]) -> State:
        """After NOT FOUND, have the model answer over the same passages. Its answer counts only if it is likely."""
        try:
            forced = await self._send(replace(after, steps=state.steps), MUST_ANSWER)
        except RunError as error:
            return keep_after(after, error, state)

        answer_signs = AnswerSigns(is_forced=True, mean_logprob=forced.step.mean_logprob)
        check = await self._check(forced, documents, answer_signs)
        checked = write_check(forced, check, self._answer.cite)
        checked = await self._confirm(checked, documents, answer_signs)
        if (checked.step.probability or 0.0) >= GIVEN:
            return checked
        # The model has said itself that it does not know. So a weak answer is only recorded in the trace. The user sees
        # the sentence that has its words among those that are near the question.
        return replace(checked, steps=after.steps).with_last(evidence=checked.step.evidence)

    async def _read_surely(self, state: State, after: State) -> State | None:
        """Return a step with the extractive reader's answer. None unless it is stated and likelier than the model's."""
        assert self.reader is not None
        if state.settings.answer_type != "short":
            return None

        candidates = await self._read_candidates(state)
        reader_state = take_reader_step(replace(after, steps=state.steps), candidates, self.reader, must_answer=True)
        # The collection may ask for a higher probability than the reader does, as `prefrag prove` has measured it.
        least = dict(state.settings.stated_from).get("reader", 0.0)
        probability = reader_state.step.probability or 0.0
        is_sure = reader_state.step.certainty == "stated" and probability >= least
        is_likelier = probability > (after.step.probability or 0.0)
        return reader_state if is_sure and is_likelier else None

    def _gives_nothing(self, state: State, documents: Sequence[Document]) -> bool:
        """Check whether the last step's answer is empty, NOT FOUND, or has no word of its own that a passage has."""
        answer = _plain_answer(state)
        if not answer or says_not_found(answer):
            return True
        # If the answer is one of the question's options, all its words are in the question. So it may be an answer.
        is_free = state.settings.answer_type == "short"
        return is_free and is_refusal(state.question, answer, documents)

    async def _check(
        self, state: State, documents: Sequence[Document], signs: AnswerSigns | None = None
    ) -> AnswerCheck | None:
        """Check how sure the last step's answer is. None if the answer gives nothing."""
        judged = await self._judge(state, documents)
        return None if judged is None else self._check_judged(state, documents, judged, signs)

    async def _confirm(self, state: State, documents: Sequence[Document], signs: AnswerSigns) -> State:
        """Ask a small model whether a sentence states its last answer, if that may change what is done with it.

        ``state`` is the state with the answer and the result of its check, and ``signs`` are those of the check.
        """
        # The reader judges the answer once more only if that may be of use.
        if not is_undecided(state.step.probability) or not can_confirm(self._call):
            return state
        judged = await self._judge(state, documents)
        if judged is None:
            return state
        check = self._check_judged(state, documents, judged, signs)
        if not needs_confirmation(state.question, check, judged, signs):
            return state

        try:
            asked, confirmed = await ask_to_confirm(self._call, state, _plain_answer(state), check.evidence[0])
        except RunError as error:
            # The answer has been checked without this call, so the run does not depend on it.
            if not may_go_on(error, state):
                raise
            return replace(error.state, steps=state.steps).with_event("error", caller="reasoner", message=str(error))
        confirmed_check = self._check_judged(asked, documents, judged, replace(signs, confirmed=confirmed))
        return write_check(asked, confirmed_check, self._answer.cite)

    async def _judge(self, state: State, documents: Sequence[Document]) -> Judgement | None:
        """Have the extractive reader judge the last step's answer. None if the answer gives nothing."""
        if self._gives_nothing(state, documents):
            return None

        reader = self.reader
        assert reader is not None
        answer = _plain_answer(state)
        judged: Judgement = await call_matching(reader.judge, reader.judge_async, state.question, documents, answer)
        return judged

    def _check_judged(
        self, state: State, documents: Sequence[Document], judged: Judgement, signs: AnswerSigns | None = None
    ) -> AnswerCheck:
        """Check how sure the last step's answer is, which the extractive reader has judged."""
        answer = _plain_answer(state)
        is_yes_no = is_verdict(answer) or state.settings.answer_type == "yes_no"
        return check_answer(state.question, answer, documents, judged, signs, is_yes_no)

    def _search_instead(self, state: State, after: State, query: str, by_code: bool = True) -> State:
        """Replace the last step by a search, which keeps the weak answer as a proposal."""
        form = self._choose_format(state)
        before = replace(after, steps=state.steps)
        searched = add_search(before, form, self._find_tool(state), query, after.step, by_code)
        return replace_repeated(searched, form, self._choose_tools(state))

    async def _ask_for_query(self, state: State, after: State) -> tuple[State, str]:
        """Ask a small model for a query over the same passages. The query is empty if the call fails."""
        call = self._prepare(replace(after, steps=state.steps), ASK_QUERY)
        try:
            message, reached = await self._call.send_for_message_async(call)
        except RunError as error:
            return keep_after(after, error, state), ""
        return replace(reached, steps=after.steps), StepsFormat.read_query(message.text or "")

    async def _read_on(self, state: State) -> State:
        """Have the extractive reader take the step."""
        assert self.reader is not None
        return self._take_step(state, await self._read_candidates(state), self.reader)

    async def _read_candidates(self, state: State) -> Sequence[Candidate]:
        """Return the extractive reader's possible answers from all passages of the run; empty without a reader."""
        reader = self.reader
        if reader is None:
            return ()
        return await call_matching(reader.read, reader.read_async, state.question, state.observed)

    def _choose_shown(self, state: State) -> Sequence[Document]:
        """Choose the passages that the model is shown: all, or for a small model the few that belong together."""
        if not self._choose_format(state).asks_narrowly:
            return state.observed

        wanted = choose_documents(state.question, state.retrieved, MOST_SHOWN)
        chosen = {identity(document) for document in (*state.attached, *wanted)}
        # The passages stay in the order in which they were found. So a server's cache has the beginning of the prompt.
        return [document for document in state.observed if identity(document) in chosen]

    @property
    def is_extractive(self) -> bool:
        """Whether the extractive reader takes the steps, because no model is set up."""
        return self._reader is not None

    @property
    def _reader(self) -> Reader | None:
        """The extractive reader if no model is set up, else None."""
        # This is not decided once in `__init__`, because the environment variables that name the model may change
        # between runs.
        return self.reader if self._call.is_absent else None

    def _take_step(self, state: State, candidates: Sequence[Candidate], reader: Reader) -> State:
        """Take the step with the extractive reader's possible answers."""
        tools = self._choose_tools(state)
        if self._reader is not None and not state.steps and any(tool.source for tool in tools):
            state = state.with_event("without_model", text=SOURCE_NOT_CHOSEN)
        return take_reader_step(state, candidates, reader, tools[0].name, self.must_answer)

    @property
    def asks_to_cite(self) -> bool:
        """Whether the model is asked to cite the passages that support its answer."""
        return self._answer.cite and self._choose_format().cites

    @property
    def _suited_format(self) -> str:
        """The format that suits the model. If nothing is known, it is ``steps`` for a model file, else ``text``."""
        unknown = "steps" if self._call.is_embedded else "text"
        return getattr(self.chat_generator, "reply_format", None) or unknown

    def _choose_format(self, state: State | None = None) -> ReplyFormat:
        """Return the reply format of a run. Without a state, return the format for a run that has not begun."""
        name: str = self.reply_format
        if name == "auto":
            name = self._name_automatic_format(state)
        if self.must_answer and self.prompt is not None and name == "tools":
            # A custom prompt for the final answer already contains the passages. `tools` would add them once more.
            name = "text"

        kind = FORMATS[name]
        return kind(self.self_evaluation) if issubclass(kind, JsonFormat) else kind()

    def _name_automatic_format(self, state: State | None) -> str:
        """Return the name of the reply format if the setting is ``auto``."""
        name_in_run = state.reply_format if state is not None else ""
        name = name_in_run or self._suited_format
        if name == "steps" and not self._allows_steps(state):
            return "json" if self._call.is_embedded else "text"
        return name

    def _allows_steps(self, state: State | None) -> bool:
        """Check whether a run may use the format ``steps``.

        The format is only for runs of users. The methods of the papers keep their formats: those with other prompts,
        with tools that name a source, or with their own words for the answer.
        """
        is_for_users = state is None or state.settings.prompts == "product"
        has_own_prompt = self.prompt not in (None, "answer_once")
        names_source = any(tool.source for tool in self._tools)
        if not is_for_users or has_own_prompt or names_source:
            return False
        if self.reader is None or self._answer.words is not None:
            return False
        return state is None or self._can_read(state)

    def ask_further(self, state: State, question: str) -> dict[str, Any] | None:
        """Put another component's question into this conversation, after the last observation.

        :param state: The state so far, from which the conversation is written.
        :param question: The question of the other component.
        :returns: The arguments of :meth:`ModelCall.prepare`. None if this component has a custom prompt, if the run's
            ``prompts`` is not ``product``, or if the reply format does not allow citations.
        """
        can_cite = self._choose_format(state).cites
        if self.prompt is not None or not can_cite or state.settings.prompts != "product":
            return None
        return self._converse(state, question)

    def _prepare(self, state: State, further: str = "") -> PreparedCall:
        """Prepare a call to the model. A question in ``further`` replaces the request for the next step."""
        form = self._choose_format(state)
        parameters = form.generation_kwargs(self._choose_tools(state), state, self.must_answer)
        return self._call.prepare(state, **self._converse(state, further), **parameters)

    def _converse(self, state: State, further: str = "") -> dict[str, Any]:
        """Write the conversation so far, as arguments of :meth:`ModelCall.prepare`.

        A question in ``further`` replaces the request for the next step. The inner functions write the conversation
        from the passages that ``ModelCall`` passes to them: it may leave out passages for which there is no room.
        """
        form = self._choose_format(state)
        settings = state.settings
        tools = [self._describe_as(tool, settings.prompts) for tool in self._choose_tools(state)]
        marks = prompt_marks(state) if self.asks_to_cite else {}
        fixed_values = self._list_fixed_values(state, tools, marks)

        # A small model sees the attached passages and a few others, but no steps.
        is_narrow = form.asks_narrowly
        prompt_name = self.prompt or form.prompt
        retrieved_passages: list[Sequence[Document]] = [step.shown for step in state.steps]
        if is_narrow:
            prompt_name = form.prompt
            few = [document for document in self._choose_shown(state) if document not in state.attached]
            retrieved_passages = [few]

        def turns(observations: Observations) -> list[Turn]:
            """Return the steps so far. A small model sees none."""
            return [] if is_narrow else self._write_turns(state, observations, marks)

        def values(observations: Observations) -> dict[str, object]:
            """Return the values that are put into the prompt file."""
            # The first group has the attached passages. For a small model, the second group has the others.
            attached = observations[0]
            last_passages = observations[-1]
            return {
                **fixed_values,
                "attached": passages(attached, marks=marks, prompts=settings.prompts) if state.attached else "",
                "passages": passages(last_passages) if is_narrow and last_passages else "(none)",
                "asks_further": further,
                "steps": [
                    # Without a search, the observation only says what was wrong with the reply.
                    {"reply": step.reply, "observation": observation, "searched": bool(step.searches)}
                    for step, observation in turns(observations)
                ],
            }

        def messages(prompt: str, observations: Observations) -> list[ChatMessage]:
            """Return the messages to send. ``prompt`` is the prompt file with its values."""
            with_instructions = put_instructions(prompt, settings.instructions)
            conversation = form.messages(with_instructions, turns(observations), tools, self.must_answer)
            if further and not is_narrow:
                add_from_user(conversation, further)
            return conversation

        return {
            "prompt": prompt_name,
            "observations": [state.attached, *retrieved_passages],
            "render": values,
            "messages": messages,
            "tools": form.callable_tools(tools),
        }

    def _list_fixed_values(
        self, state: State, tools: Sequence[Tool], marks: Mapping[Identity, str]
    ) -> dict[str, object]:
        """Return the values of the prompt file that do not depend on the passages for which there is room."""
        settings = state.settings
        return {
            "question": state.question,
            "history": state.history if not state.typed else (),
            "tools": tools,
            # The shipped tool needs no description if it is the only tool.
            "described": [] if tools == [SEARCH_ENGINE] else tools,
            "tool_names": " or ".join(tool.name for tool in tools),
            "max_steps": settings.max_steps,
            "answer_type": settings.answer_type,
            "answer_format": self._describe_answer(state, marks),
            "product": settings.prompts == "product",
            "commonsense": self.commonsense,
            "must_answer": self.must_answer,
            "self_evaluation": self.self_evaluation,
            "as_json": isinstance(self._choose_format(state), JsonFormat),
        }

    def _write_turns(self, state: State, observations: Observations, marks: Mapping[Identity, str]) -> list[Turn]:
        """Return the steps so far, each with the text of its passages."""
        attached, *observations_of_steps = observations
        turns = []
        # The passages that the prompt already shows further up.
        above = set(map(identity, attached))
        for step, shown in zip(state.steps, observations_of_steps, strict=True):
            # A user's own prompt may leave out steps. With such a prompt, each step shows its passages in full.
            left_out = above if self.prompt is None else ()
            text = passages(shown, step.note, marks, above=left_out, prompts=state.settings.prompts)
            turns.append(Turn(self._show(step), text if step.observed else None))
            above.update(map(identity, shown))
        return turns

    def _describe_answer(self, state: State, marks: Mapping[Identity, str]) -> str:
        """Write what a final answer looks like, and whether it may be NOT FOUND and must cite passages."""
        settings = state.settings
        words = self._answer.words or ANSWER_FORMATS[settings.answer_type]
        own_words = own_text("answer_format", settings.prompts, answer_type=settings.answer_type, answer_format=words)
        description = own_words or words
        if self._has_way_out(state):
            description += OR_NOT_FOUND
        # A model that must answer without any passage has nothing to cite.
        can_cite = bool(marks) or not self.must_answer
        if self.asks_to_cite and settings.prompts == "product" and can_cite:
            description += CITED
        return description

    def _can_read(self, state: State) -> bool:
        """Check whether the run has or may get passages. It has none if a method answers from the model's memory."""
        return bool(state.searches or state.attached) or not self.must_answer

    def _has_way_out(self, state: State) -> bool:
        """Check whether the model may write NOT FOUND instead of an answer."""
        is_product = state.settings.prompts == "product" and self.reader is not None
        return is_product and state.settings.answer_type == "short" and self._can_read(state)

    def _show(self, step: Step) -> Step:
        """Make chat control tokens in a step harmless: the model may have copied them from a passage."""
        return replace(
            step,
            reply=defuse_tokens(step.reply),
            thought=defuse_tokens(step.thought),
            query=defuse_tokens(step.query),
        )

    def _choose_tools(self, state: State) -> list[Tool]:
        """List the tools whose sources this run may search. If there is none, list all tools."""
        allowed = [tool for tool in self._tools if tool.source is None or tool.source in state.settings.sources]
        return allowed or self._tools

    @staticmethod
    def _describe_as(tool: Tool, prompts: str) -> Tool:
        """Return a tool with the description that a user's own prompts give it, if they give one."""
        own = own_text("tool_description", prompts, name=tool.name, description=tool.description)
        return tool if own is None else replace(tool, description=own)

    def _find_tool(self, state: State) -> Tool:
        """Find the tool of the preferred source. If there is none, return the first tool."""
        tools = self._choose_tools(state)
        return next((tool for tool in tools if tool.source == state.settings.preferred), tools[0])

    def _read(self, call: PreparedCall, message: ChatMessage, state: State) -> State:
        """Read a reply as the next step, and add the step and its events to the state."""
        step = self._read_step(call, message, state)
        forced = self._is_forced(state)
        if step.action is Action.ANSWER:
            step = replace(step, answer=add_codes(step.answer, state))
        marks = known_marks(state)
        # The marks by which the model cites passages are removed from the query. They mean nothing to a search engine.
        query_without_marks, _ = read_citations(step.query, marks)
        step = replace(step, query=query_without_marks or step.query, forced=forced)
        state = replace(state.with_step(step), conversation=self)

        if step.thought:
            state = state.with_event("thought", text=without_codes(step.thought, marks))
        if step.action is Action.SEARCH and len(message.tool_calls) > 1:
            state = state.with_event("calls_dropped", number=len(message.tool_calls) - 1)
        if step.action is Action.ANSWER:
            label = step.label.value if step.label else None
            state = state.with_event("answer", text=cite_plainly(step.answer, marks), label=label, forced=forced)
        return state

    def _read_step(self, call: PreparedCall, message: ChatMessage, state: State) -> Step:
        """Read a reply as a step. An evaluation that was not asked for is left out. An unusable reply is shortened."""
        # If the prompt ends with "Thought:", the reply begins with a thought. Its answer field contains the answer.
        form = self._choose_format(state)
        analyses = (call.messages[-1].text or "").endswith("Thought:")
        step = form.read_message(message, self._tools, must_answer=self.must_answer and not analyses)
        step = replace(step, mean_logprob=mean_logprob(message.meta))
        if not self.self_evaluation:
            # A model may evaluate its answer without being asked to.
            step = replace(step, label=None, explanation="", suggestions="")
        if step.action in _UNUSABLE:
            step = replace(step, reply=shorten(step.reply), thought=shorten(step.thought), tool=shorten(step.tool))
        return step

    def _is_forced(self, state: State) -> bool:
        """Check whether an answer after this state is forced, because the model may not search any more.

        Only ``must_answer`` forces an answer. An answer is not forced in a run's first call, or if the model itself
        wanted no further search.
        """
        if not self.must_answer:
            return False
        # A search of QuestionAsQuery or of CRAG has neither a reply nor a tool. A search that this component or the
        # reader has made counts as a call.
        is_after_call = any(step.reply or step.tool or step.action is not Action.SEARCH for step in state.steps)
        return is_after_call and state.step.action is not Action.NONE


def _plain_answer(state: State) -> str:
    """Return the last step's answer without its citations."""
    answer, _ = read_citations(state.step.answer, known_marks(state))
    return answer
