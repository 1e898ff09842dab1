"""Which parameters a server refuses, by the message of its error."""

from prefrag.components.generators.model_server import ModelServerError
from prefrag.components.generators.refused_parameters import find_refused
from tests.for_each import for_each

REQUEST = {"logprobs": True, "top_logprobs": 5, "top_p": 0.9, "max_tokens": 1}


@for_each(
    "message, names",
    ("Unknown parameter: top_p", ["top_p"]),
    ("top_logprobs is not supported", ["top_logprobs"]),
    ("Requested sample logprobs of 5, which is greater than max allowed: 1", ["top_logprobs"]),
    ("top_logprobs is not supported, only logprobs", ["top_logprobs"]),
)
def test_refused_alternatives_leave_the_log_probabilities(message: str, names: list[str]):
    assert find_refused(ModelServerError(message, status=400), REQUEST) == (names, True)


def test_refused_log_probabilities_without_alternatives():
    request = {"logprobs": True, "max_tokens": 160}

    assert find_refused(ModelServerError("logprobs is not supported", status=400), request) == (["logprobs"], True)
