"""The rules for a model's step in runs with the prompts ``product``, which are those for users.

A run searches before it answers. A query that was already searched is replaced by a new one. A reply such as NOT FOUND
is not shown as an answer. Measurements of the papers' methods use other prompts, to which these rules do not apply.
"""

import re
from dataclasses import replace

from prefrag.components.reasoner.reader_step import next_query
from prefrag.components.reasoner.reply_formats import ReplyFormat, Tool
from prefrag.components.state.state import Action, State, Step

# An answer that begins with "not found", in any spelling: "NOT FOUND", "Not_found.". "Nothing found" does not match.
_NOT_FOUND = re.compile(r"\W*not[\s_-]*found\b", re.IGNORECASE)
# The message in the trace when two replies in a row cannot be read.
UNREAD = "Two replies of the language model could not be used, so the passages were read without it."


def says_not_found(answer: str) -> bool:
    """Check whether an answer is NOT FOUND. The prompts for users allow this if the passages do not state the answer.

    :param answer: The answer.
    :returns: True if the answer begins with these words.
    """
    return _NOT_FOUND.match(answer) is not None


def add_search(
    state: State, form: ReplyFormat, tool: Tool, query: str, step: Step | None = None, by_code: bool = True
) -> State:
    """Add a search that the model has not chosen. The transcript shows it as if the model had chosen it.

    :param state: The state, without the step that the search replaces.
    :param form: The reply format, in which the search is written for the transcript.
    :param tool: The tool that searches.
    :param query: The query.
    :param step: The model's step that the search replaces. Its thought and its answer are kept. None if the search
        replaces no step.
    :param by_code: False if the model wrote the query.
    :returns: The state with the search as its last step.
    """
    step = step or Step(Action.SEARCH)
    search = replace(
        step,
        action=Action.SEARCH,
        by_code=by_code,
        tool=tool.name,
        query=query,
        named_source=tool.source,
        reply=form.write_search(tool, query, step.thought),
        label=None,
        explanation="",
        suggestions="",
    )
    return state.with_step(search)


def replace_repeated(state: State, form: ReplyFormat, tools: list[Tool]) -> State:
    """Replace a query that was already searched by the next query that code makes.

    If code has no new query either, the action becomes ``NONE``, which ends the searches.

    :param state: The state, with the model's new step.
    :param form: The reply format, in which the search is written for the transcript.
    :param tools: The tools that the model can call.
    :returns: The state. It is unchanged if its last step is no search, or a search with a new query.
    """
    step = state.step
    before = replace(state, steps=state.steps[:-1])
    searches = [earlier for earlier in before.steps if earlier.action is Action.SEARCH]
    asked = {(search.named_source, _key(search.query)) for search in searches}
    if step.action is not Action.SEARCH or (step.named_source, _key(step.query)) not in asked:
        return state

    tool = next((offered for offered in tools if offered.name == step.tool), tools[0])
    query = next_query(before)
    if query is None or (tool.source, _key(query)) in asked:
        return before.with_step(replace(step, action=Action.NONE, query=""))
    return add_search(before.with_event("repeated", query=step.query), form, tool, query, step)


def _key(query: str) -> str:
    """Return a query in the form in which queries are compared: ``Who led it?`` and ``who led  it`` are equal."""
    return " ".join(query.casefold().split()).strip(" .?!\"'")
