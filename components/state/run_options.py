"""The options of a run: their names, types and meaning.

:class:`RunOptions` describes all options once, for Python, YAML, REST, chat, MCP and the command line. Each of these
interfaces accepts some of the options. The tuples at the end of this file name them.
"""

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictInt, ValidationError, create_model

from prefrag.components.state.filters import Filters
from prefrag.errors import BadInput

AnswerType = Literal["short", "yes_no", "multiple_choice"]


class Turn(BaseModel):
    """An earlier turn of a conversation."""

    role: Literal["user", "assistant"]
    content: str


class AttachedDocument(BaseModel):
    """A text that belongs to the question."""

    title: str = ""
    content: str


class RunOptions(BaseModel):
    """A question and the options of its run. Each interface accepts some of these options, see :func:`options_of`."""

    model_config = ConfigDict(extra="forbid")

    question: str = Field(description="The question, at most 4,000 characters and 4,500 bytes.")
    history: list[Turn] | None = Field(None, description="Earlier turns of the conversation, oldest first.")
    sources: list[str] | None = Field(
        None, description="The sources that may be searched; by default all that the pipeline has."
    )
    preferred: str | None = Field(None, description="The source that is searched first.")
    top_k: StrictInt | None = Field(None, description="Documents per retrieval.")
    max_steps: StrictInt | None = Field(
        None, description="The maximum number of steps, up to the limit of the pipeline."
    )
    folders: list[str] | None = Field(
        None,
        max_length=100,
        description="A folder of the collection with all below it, such as contracts or Letters/2024; several may be "
        "given.",
    )
    kinds: list[str] | None = Field(
        None, max_length=100, description="A kind of file, such as pdf, docx, mail or .xlsx; several may be given."
    )
    since: str | None = Field(
        None,
        description="Only documents whose first lines or name give a date in or after this year, month or day "
        "(2024-06-15).",
    )
    until: str | None = Field(
        None,
        description="Only documents whose first lines or name give a date in or before this year, month or day "
        "(2024-06-15).",
    )
    filters: Filters | None = Field(
        None, description="A Haystack metadata filter on the documents. It is applied by the sources that can filter."
    )
    documents: list[AttachedDocument] | None = Field(
        None, description="Texts that belong to the question. The model reads them, but no query is made from them."
    )
    answer_type: AnswerType | None = Field(None, description="The kind of answer that the question calls for.")
    instructions: str | None = Field(
        None,
        description="How an operator wants the answers to be: their language, tone and form. The first 4,000 "
        "characters are kept, and shown only to the models that write an answer.",
    )
    web: StrictBool | None = Field(None, description="False closes the web for this question; true changes nothing.")
    web_query: str | None = Field(
        None,
        description="The text that a person has seen and allowed as the first web query of the run: the whole message, "
        "as the trace offers it (``offer``) when a part of it was left out of a query.",
    )
    model: StrictBool | None = Field(
        None,
        description="False answers this question without the language model, as if none were set up; true changes "
        "nothing.",
    )
    deadline: float | None = Field(
        None, description="The time that the run may take, in seconds, up to the limit of the server."
    )
    collection: str | None = Field(
        None, description="The collection to search; by default the collection that is served."
    )
    index: str | None = Field(None, description="The older name of ``collection``.")
    stream: bool = Field(
        False, description="Whether each step is sent as it happens, as an event of a ``text/event-stream``."
    )


OWN_FILES = ("folders", "kinds", "since", "until")
"""The options that limit a run to some of the user's own files. If any is set, no external source is searched."""
CHAT = ("sources", "preferred", "top_k", "max_steps", "filters", *OWN_FILES, "web", "deadline", "collection", "index")
"""The options that a chat request or a call of an MCP tool may set, in addition to the question."""
REST = ("question", "history", "documents", "web_query", "model", "stream", *CHAT)
"""The options that a REST request may set."""
STATE = (
    "history",
    "sources",
    "preferred",
    "top_k",
    "max_steps",
    "filters",
    *OWN_FILES,
    "documents",
    "answer_type",
    "instructions",
)
"""The inputs of :class:`~prefrag.components.state.state_builder.StateBuilder`, in addition to the question."""


def pop_collection(options: dict[str, Any]) -> str | None:
    """Take the name of the collection out of the options.

    The option has two names, ``collection`` and the older ``index``. For example, ``{"index": "papers"}`` becomes
    ``{}``, and the result is "papers".

    :param options: The options of a request. Both names are removed from it.
    :returns: The name of the collection. None if neither option is set.
    :raises BadInput: If the two options name two different collections.
    """
    collection: str | None = options.pop("collection", None)
    by_older_name: str | None = options.pop("index", None)
    if collection is None:
        return by_older_name
    if by_older_name is not None and by_older_name != collection:
        raise BadInput("`index` is the older name of `collection`: give only one of the two.")
    return collection


@cache
def options_of(names: tuple[str, ...]) -> type[BaseModel]:
    """Make a Pydantic model that has only the named options.

    :param names: The names of the options. Names that :class:`RunOptions` lacks are ignored.
    :returns: The model class. Unknown fields are an error.
    """
    fields: dict[str, Any] = {}
    for name, field in RunOptions.model_fields.items():
        if name in names:
            fields[name] = (field.annotation, field)
    return create_model("Options", __config__=RunOptions.model_config, **fields)


def read_options(values: Mapping[str, object], names: Iterable[str]) -> dict[str, Any]:
    """Check the options of a request, and return those that are set.

    :param values: The options of the request, by name.
    :param names: The names of the options that may be set here.
    :returns: The options whose value is not None.
    :raises BadInput: If an option is unknown, or if its value has the wrong type.
    """
    choices = tuple(names)
    unknown = [name for name in values if name not in choices]
    if unknown:
        unknown_names = ", ".join(unknown)
        known_names = ", ".join(choices)
        raise BadInput(f"There is no option {unknown_names} here. The options are: {known_names}.")
    try:
        return options_of(choices).model_validate(values).model_dump(exclude_none=True)
    except ValidationError as error:
        problems = []
        for problem in error.errors():
            # The path to the wrong value, such as "history.0.role".
            path = ".".join(map(str, problem["loc"]))
            problems.append(f"{path}: {problem['msg']}")
        listed = "; ".join(problems)
        raise BadInput(f"An option cannot be used: {listed}") from error
