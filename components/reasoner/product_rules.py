"""The rules of the product for a model's step: search first, search for something new, and end without false words."""

import re
from dataclasses import replace
from typing import Any

from prefrag.components.reasoner.reader_step import next_query
from prefrag.components.reasoner.reply_formats import ReplyFormat, Tool
from prefrag.components.state.state import Action, State, Step

_NOT_FOUND = re.compile(r"\W*not[\s_-]*found\b", re.IGNORECASE)
UNREAD = "Two replies of the language model could not be used, so the passages were read without it."


def says_not_found(answer: str) -> bool:
    """Check whether an answer is the way out that every prompt of the product offers: NOT FOUND."""
    return _NOT_FOUND.match(answer) is not None


def add_search(
    state: State, form: ReplyFormat, tool: Tool, query: str, step: Step | None = None, by_code: bool = True
) -> State:
    """Add a search that the model has not chosen. The transcript holds it as if the model had.

    ``step`` is the model's step that the search replaces: its thought and its proposed answer are kept. ``by_code`` is
    false if the model wrote the query.
    """
    step = step or Step(Action.SEARCH)
    reply = form.write_search(tool, query, step.thought)
    changes: dict[str, Any] = {"tool": tool.name, "query": query, "named_source": tool.source, "reply": reply}
    changes |= {"label": None, "explanation": "", "suggestions": ""}
    return state.with_step(replace(step, action=Action.SEARCH, by_code=by_code, **changes))


def replace_repeated(state: State, form: ReplyFormat, tools: list[Tool]) -> State:
    """Replace a query that was already asked by the extractive reader's next query; without one, end the searches."""
    step, before = state.step, replace(state, steps=state.steps[:-1])
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
    return " ".join(query.casefold().split()).strip(" .?!\"'")
