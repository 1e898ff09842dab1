"""Read the conversation of an Agent: the user's question, the calls of tools and the documents.

The hooks use these functions. A hook may write a message in the user's name, which is not taken for the user's own.
"""

from collections.abc import Sequence

from haystack import Document
from haystack.components.agents import State as AgentState
from haystack.dataclasses import ChatMessage, ChatRole

from prefrag.components.state.state import Action, RunSettings, Search, State, Step

# The key in the metadata that marks a message that a hook has written in the user's name.
BY_CODE = "prefrag_hook"


def this_turn(messages: Sequence[ChatMessage]) -> list[ChatMessage]:
    """Return the last message that the user has written, and all messages after it.

    :param messages: The conversation.
    :returns: The messages; the whole conversation if the user has written none.
    """
    places = [place for place, message in enumerate(messages) if _is_the_users(message)]
    return list(messages[places[-1] :]) if places else list(messages)


def find_question(messages: Sequence[ChatMessage]) -> str:
    """Return the text of the last message that the user has written.

    :param messages: The conversation.
    :returns: The text, or an empty text if the user has written no message.
    """
    turn = this_turn(messages)
    if not turn or not _is_the_users(turn[0]):
        return ""
    return turn[0].text or ""


def _is_the_users(message: ChatMessage) -> bool:
    """Check whether the user has written a message, and not a hook in the user's name."""
    return message.is_from(ChatRole.USER) and bool(message.text) and BY_CODE not in message.meta


def find_failure(messages: Sequence[ChatMessage], tool: str) -> str | None:
    """Return the error of the last call of a tool in this turn.

    :param messages: The conversation.
    :param tool: The name of the tool.
    :returns: The message of the error. None if the last call did not fail, or if there was no call.
    """
    results = []
    for message in this_turn(messages):
        for result in message.tool_call_results:
            if result.origin.tool_name == tool:
                results.append(result)
    if not results or not results[-1].error:
        return None
    return str(results[-1].result)


def find_documents(state: AgentState, key: str) -> list[Document]:
    """Return the documents that the tools of an Agent have written to its state.

    :param state: The Agent's state.
    :param key: The key of the documents.
    :returns: The documents; an empty list if there are none.
    """
    return list(state.data.get(key) or ())


def make_state(messages: Sequence[ChatMessage], tool: str, documents: Sequence[Document]) -> State:
    """Describe an Agent's searches with one tool as a run, so that a judge can judge them.

    :param messages: The conversation.
    :param tool: The name of the tool that searches the documents.
    :param documents: All documents that the tool has found.
    :returns: The state of a run with one step, which has found these documents with the last query.
    """
    question = find_question(messages)
    calls = []
    for message in messages:
        for call in message.tool_calls:
            if call.tool_name == tool:
                calls.append(call)
    query = question
    if calls:
        query = str(calls[-1].arguments.get("query") or question)

    search = Search(source=tool, query=query, documents=tuple(documents))
    step = Step(Action.SEARCH, query=query, searches=(search,), source=tool)
    return State(question, RunSettings(sources=(tool,), preferred=tool), steps=(step,))
