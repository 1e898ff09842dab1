"""The component that rewrites a follow-up question so that it can be understood alone.

It runs before anything is searched. A language model rewrites the question. Without a model, the rules in
``follow_up_rules.py`` rewrite it.
"""

from collections.abc import Sequence
from dataclasses import replace

from haystack import component

from prefrag.components.both_ways import as_blocking
from prefrag.components.generators.json_reply import object_schema, read_object, response_format
from prefrag.components.generators.model_call import ChatGenerator, ModelCall, PreparedCall, may_go_on
from prefrag.components.generators.token_budget import Observations, estimate_tokens
from prefrag.components.loop.follow_up_rules import find_reference, pair_turns, rewrite_by_rules
from prefrag.components.prompts.render_prompt import prompt_path
from prefrag.components.state.request_limits import MAX_QUESTION_CHARACTERS
from prefrag.components.state.state import AskBack, RunError, State
from prefrag.components.text.sentences import cut_text

# The JSON schema of the model's reply.
_SCHEMA = object_schema(question={"type": "string", "minLength": 3, "maxLength": 600})
# The maximum number of turns that the model reads, the newest. A turn is a question or an answer.
MAX_TURNS = 6
# The maximum number of characters of each turn. The rest of a longer turn is left out.
MAX_TURN_CHARACTERS = 1_500
# The question to the user if nobody can tell what is meant. The word that is not clear, such as "he", is put into it.
ASKS_BACK = "What do you mean by \u201c{}\u201d? Please ask a full question that names the person or thing."


@component
class FollowUpRewriter:
    """Replace references to earlier turns, such as "he", by the names that are meant.

    The first question of a conversation is not rewritten. Without a model, rules rewrite follow-up questions. If the
    rules cannot tell what a question refers to, the run asks the user what is meant. It then ends before anything is
    searched.

    The names must be in the question, because later components do not see the conversation. Examples are the tree judge
    and the search after a rejected answer.
    """

    def __init__(
        self,
        chat_generator: ChatGenerator,
        prompt: str = "follow_up_rewriter",
        generation_kwargs: dict[str, object] | None = None,
    ):
        """Set up the component.

        :param chat_generator: The model, any Haystack chat generator.
        :param prompt: The prompt file.
        :param generation_kwargs: OpenAI-style parameters. None means temperature 0.1, top_p 0.9 and max_tokens 256.
        :raises ValueError: When the prompt file does not exist.
        """
        prompt_path(prompt)
        self.chat_generator = chat_generator
        self.prompt = prompt
        self.generation_kwargs = generation_kwargs
        self._call = ModelCall("rewriter", chat_generator, generation_kwargs, max_tokens=256)

    def warm_up(self) -> None:
        """Load the model or connect to its server, if a model is set up."""
        if not self._call.is_absent:
            self._call.warm_up()

    @component.output_types(state=State)
    async def run_async(self, state: State) -> dict[str, State]:
        """Rewrite a follow-up question, so that it can be understood alone.

        :param state: The state at the start of a run.
        :returns: ``state`` with the rewritten question. Its field ``typed`` has the question as the user typed it.
        :raises AskBack: When there is no model and the earlier turns do not tell what the question refers to.
        :raises RunError: When the model fails and the run may not continue without it. The error holds the state.
        """
        if not state.history:
            return {"state": state}
        if self._call.is_absent:
            return {"state": _rewrite_without_model(state)}

        try:
            text, called = await self._call.send_async(self._prepare(state))
        except RunError as error:
            if not may_go_on(error, state):
                raise
            # The rules rewrite the question in place of the model that failed. The trace keeps the model's error.
            failed = error.state.with_event("model_failed", message=str(error))
            # The call had a shorter history.
            as_before = replace(failed, question=state.question, history=state.history)
            return {"state": _rewrite_without_model(as_before)}
        return {"state": self._take_question(text, called)}

    run = as_blocking(run_async)

    def _prepare(self, state: State) -> PreparedCall:
        """Prepare the call that rewrites the question, with the newest turns in its prompt."""
        turns = self._latest(state.history)

        def values(_: Observations) -> dict[str, object]:
            """Return the variables of the prompt, which contains no passages."""
            return {"history": turns, "question": state.question}

        shortened = replace(state, history=tuple(turns))
        schema = response_format("question", _SCHEMA)
        return self._call.prepare(shortened, self.prompt, [], values, response_format=schema)

    def _latest(self, history: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
        """Choose the newest turns that fit into a quarter of the model's window, oldest first.

        Later prompts need the rest of the window for passages.
        """
        turns: list[tuple[str, str]] = []
        # The number of tokens that are still free.
        room = self._call.context_window // 4
        for role, whole_text in reversed(history[-MAX_TURNS:]):
            text = cut_text(whole_text, MAX_TURN_CHARACTERS)
            if estimate_tokens(text) > room:
                if turns:
                    break
                # Not even the newest turn fits, so it is shortened. The estimate of a character is at most one and a
                # third tokens, because a character has at most four bytes.
                text = cut_text(text, room * 3 // 4 - 1)
            room -= estimate_tokens(text)
            turns.insert(0, (role, text))
        return turns

    def _take_question(self, text: str, state: State) -> State:
        """Read the rewritten question from the model's reply. If it cannot be read, the question stays as typed."""
        reply = read_object(text) or {}
        rewritten = reply.get("question")
        if not isinstance(rewritten, str) or not 3 <= len(rewritten.strip()) <= MAX_QUESTION_CHARACTERS:
            return replace(state, typed="").with_event("rewritten", question=None)
        question = " ".join(rewritten.split())
        return replace(state, question=question, typed=state.question).with_event("rewritten", question=question)


def _rewrite_without_model(state: State) -> State:
    """Rewrite the question by rules; raise AskBack if the rules cannot."""
    turns = pair_turns([(role, cut_text(text, MAX_TURN_CHARACTERS)) for role, text in state.history])
    question = rewrite_by_rules(state.question, turns)
    if question is None or len(question) > MAX_QUESTION_CHARACTERS:
        question_back = ASKS_BACK.format(find_reference(state.question))
        raise AskBack(question_back, state.with_event("asked_back", text=question_back))
    if question == state.question:
        return state
    return replace(state, question=question, typed=state.question).with_event("rewritten", question=question)
