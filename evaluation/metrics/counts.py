"""Count the documents, model calls, retrievals, tokens and failures of one run.

The input is the result that a pipeline returns for one question. Its ``steps`` are the iterations of the pipeline's
loop, and its ``trace`` is the list of everything that happened. The averages over all questions are made in
``summary.py``.
"""

from collections.abc import Mapping
from typing import Literal, get_args

from prefrag.components.state.result import Result

# The counts of retrievals that a result may contain. The first five are those of appendix A.6 of PrefRAG. The last one
# is the number of queries that the retrievals sent.
_Retrievals = Literal["total_local", "total_web", "total", "used_local", "used", "lookups"]
_RETRIEVALS: tuple[_Retrievals, ...] = get_args(_Retrievals)


def counts(result: Result) -> dict[str, float]:
    """Count the costs and failures of a run. A count that the result lacks is 0.

    Costs:

    - ``documents_per_question``: the number of different documents that the model was shown.
    - ``llm_calls``: the number of model calls.
    - ``total_local``, ``total_web``, ``total``, ``used_local``, ``used``: the five counts of retrievals in appendix A.6
      of PrefRAG.
    - ``lookups``: the number of queries that the retrievals sent.
    - ``prompt_tokens`` and ``completion_tokens``: the tokens that the model read and wrote.
    - ``cached_tokens``: the prompt tokens that were in the server's cache. Left out if the server does not say.

    Failures:

    - ``forced``: 1 if the steps ran out before the model answered.
    - ``not_found``: 1 if the pipeline gave no answer on purpose.
    - ``unparsable``: the number of replies that could not be parsed (see :func:`count_unparsable`).
    - ``unknown_actions``: the number of steps whose action does not exist.
    - ``failed_searches``: the number of searches that lack results because of an error, although the run went on.

    :param result: The result of the pipeline for one question.
    :returns: The counts by name.
    """
    usage = result.get("usage") or {}
    retrievals = result.get("counts") or {}
    steps = result.get("steps") or ()
    trace = result.get("trace") or ()

    # Not every server says how many tokens were in its cache.
    cached = {}
    cached_tokens = usage.get("cached_tokens")
    if cached_tokens is not None:
        cached["cached_tokens"] = float(cached_tokens)

    unknown_actions = sum(step.get("action") == "unknown_action" for step in steps)
    failed_searches = sum(event.get("kind") == "found" and bool(event.get("error")) for event in trace)

    return {
        "documents_per_question": float(len(result.get("documents") or ())),
        "llm_calls": float(usage.get("llm_calls") or 0),
        **{name: float(retrievals.get(name) or 0) for name in _RETRIEVALS},
        "prompt_tokens": float(usage.get("prompt_tokens") or 0),
        "completion_tokens": float(usage.get("completion_tokens") or 0),
        **cached,
        "forced": float(bool(result.get("forced"))),
        "not_found": float(bool(result.get("not_found"))),
        "unparsable": float(count_unparsable(result)),
        "unknown_actions": float(unknown_actions),
        "failed_searches": float(failed_searches),
    }


def calls_by_caller(result: Result) -> dict[str, float]:
    """Count the model calls of each part of the pipeline that calls the model, such as the judge.

    :param result: The result of the pipeline for one question.
    :returns: The number of model calls by the name of the caller. Empty if the run did not count them.
    """
    usage = result.get("usage") or {}
    calls = usage.get("calls") or {}
    return {str(caller): float(number) for caller, number in calls.items()}


def count_unparsable(result: Result) -> int:
    """Count the replies of a model that could not be parsed.

    The replies to the reasoner are counted in the steps, because the trace lacks the reply that ends the loop. The
    replies to the judge, CRAG's evaluator, the reviewer, the reflector, the critic and the rewriters are counted in the
    trace.

    :param result: The result of the pipeline for one question.
    :returns: The number of such replies.
    """
    replies: int = sum(step.get("action") == "unreadable" for step in result.get("steps") or ())
    return replies + sum(_is_unread(event) for event in result.get("trace") or ())


def _is_unread(event: Mapping[str, object]) -> bool:
    """Check whether an event of the trace records a reply that could not be parsed."""
    kind = event.get("kind")
    if kind == "unreadable":
        return bool(event.get("caller"))
    if kind == "rewritten":
        return event.get("question") is None
    can_be_unread = kind in ("verdict", "review", "retrieval", "critique", "evaluated", "strips")
    return can_be_unread and event.get("parsed") is False
