"""The guided format: the model chooses one of several prepared queries, because it is too small to write a query."""

from collections.abc import Sequence
from typing import Any

from prefrag.components.generators.json_reply import response_format
from prefrag.components.reasoner.reader_step import open_queries
from prefrag.components.reasoner.reply_formats.fields import Tool
from prefrag.components.reasoner.reply_formats.json_format import JsonFormat
from prefrag.components.state.state import State


class GuidedFormat(JsonFormat):
    """The JSON format, in which the query is one of those that :func:`open_queries` lists.

    A model of a hundred million parameters writes queries that find nothing, but it can choose a good one from a list.
    """

    prompt = "reasoner_guided"
    cites = False

    def generation_kwargs(self, tools: Sequence[Tool], state: State, must_answer: bool) -> dict[str, Any]:
        """Return the JSON schema of the reply: a search with a listed query, an answer, or either of them."""
        queries = [] if must_answer else open_queries(state)
        answer = self._answer_schema(_begin_with("The passages say"), answer_length=80, explanation_length=80)
        search = self._search_schema(tools, {"enum": queries}, _begin_with("I still have to find"))
        if not queries:
            schema = answer
        elif not state.observed:
            # Before it has seen a passage, such a model could answer only from memory, and it knows too little.
            schema = search
        else:
            schema = {"anyOf": [search, answer]}
        return {"response_format": response_format("step", schema), "frequency_penalty": 0.5}


def _begin_with(beginning: str) -> dict[str, Any]:
    """Make the schema of a short sentence with a fixed beginning: without it, the smallest models ramble."""
    return {"type": "string", "pattern": f"^{beginning} [A-Za-z' -]{{8,80}}$"}
