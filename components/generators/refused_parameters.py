"""Find in the error of a model server which parameters the server refuses, and leave them out.

Servers differ in the parameters that they know. If a server refuses a call because of a parameter that is not
necessary, the call is made again without this parameter.
"""

import re
from collections.abc import Collection
from typing import Any

from prefrag.components.generators.context_window import is_too_long
from prefrag.components.generators.model_server import ModelServerError

# The HTTP statuses with which servers refuse a parameter that they do not know.
_BAD_REQUEST = (400, 422)
# The parameters that a call can do without. The value of each is advice for users: the setting with which the parameter
# is not sent at all, so that no server refuses it. The advice is empty if there is no such setting.
_ADVICE = {
    "response_format": "set {prefix}STRUCTURED to json_object or off",
    "chat_template_kwargs": "unset {prefix}THINKING",
    # If it is refused, `max_completion_tokens` is sent instead.
    "max_tokens": "set `max_completion_tokens` in the YAML",
    "parallel_tool_calls": "",
    "frequency_penalty": "",
    "logprobs": "",
    "top_logprobs": "",
    "temperature": "",
    "top_p": "",
    # If it is refused, `ModelCall` cuts the reply at the stop sequence instead.
    "stop": "",
    "return_progress": "",
    "stream_options": "",
    "stream": "",
}
# Some servers refuse this parameter without naming it. So it is left out if an error names no parameter.
_SUSPECT = "response_format"


def find_refused(error: ModelServerError, request: dict[str, Any]) -> tuple[list[str], bool]:
    """Find the parameters that made a server refuse a call.

    :param error: The error of the server.
    :param request: The parameters of the refused call.
    :returns: The names of the parameters, and whether the message of the server names them. Without a name in the
        message, `response_format` is suspected if the call has it. The list is empty if the call was refused for
        another reason.
    """
    if error.status not in _BAD_REQUEST or is_too_long(error):
        return [], False

    extra_body = request.get("extra_body") or {}
    sent = {**request, **extra_body}
    present = [name for name in _ADVICE if sent.get(name) is not None]
    named = [name for name in present if re.search(rf"(?<!\w){name}(?!\w)", str(error))]
    if "logprobs" in named and "top_logprobs" in present:
        # A server may allow fewer of them, and name only the parameter that the other one belongs to. The call can do
        # without the other one sooner.
        named = [name for name in named if name not in ("logprobs", "top_logprobs")] + ["top_logprobs"]
    if named:
        return named, True
    return [name for name in present if name == _SUSPECT], False


def advise(names: Collection[str], prefix: str) -> str:
    """Write a sentence that tells users which settings avoid the refused call.

    :param names: The names of the refused parameters.
    :param prefix: The prefix of the environment variables, such as ``PREFRAG_LLM_``.
    :returns: The sentence, with a space before it. Empty if there is no advice.
    """
    advice = [_ADVICE[name].format(prefix=prefix) for name in names if _ADVICE[name]]
    if not advice:
        return ""
    # In this sentence, "it" is the call, which is made again without the parameters.
    listed = ", and ".join(advice)
    return f" If it now succeeds, {listed}, so that no call is refused for this."


def leave_out(names: Collection[str], request: dict[str, Any]) -> dict[str, object]:
    """Remove parameters from a call.

    For example, ``leave_out(["top_p"], {"top_p": 0.9, "seed": 1})`` returns ``{"seed": 1}``. A removed ``max_tokens``
    becomes ``max_completion_tokens``: ``leave_out(["max_tokens"], {"max_tokens": 9})`` returns
    ``{"max_completion_tokens": 9}``.

    :param names: The names of the parameters to remove. They are also removed from ``extra_body``.
    :param request: The parameters of the call. They are not changed.
    :returns: The other parameters.
    """
    removed = {*names, "extra_body"}
    simpler = {name: value for name, value in request.items() if name not in removed}
    if "max_tokens" in names and request.get("max_tokens") is not None:
        simpler.setdefault("max_completion_tokens", request["max_tokens"])

    # The parameters in `extra_body` that remain are put back.
    extra_body = request.get("extra_body") or {}
    remaining = {name: value for name, value in extra_body.items() if name not in names}
    if remaining:
        simpler["extra_body"] = remaining
    return simpler
