"""Describe what a run sent to models on other machines, and to a tracing backend, for the user of the run."""

from prefrag.components.state.result import Result
from prefrag.components.text.counted import counted

# What an embedder gets.
_QUERIES = "your queries"
# What all other models get.
_PASSAGES = "your passages"


def write_sent_to_models(result: Result, with_host: bool = True) -> list[str]:
    """Describe what a run sent to remote models, which are not on this machine or on a host that counts as local.

    :param result: The result of the run.
    :param with_host: Whether the hosts of the models are named.
    :returns: A line for each kind of content and each host, and a line if a tracing backend got the content of the run.
    """
    # The numbers of calls and tokens, by the content that was sent and the host.
    sums: dict[tuple[str, str], tuple[int, int]] = {}
    for sent in result.get("sent_to_models") or ():
        if sent["remote"]:
            # An embedder gets only queries and no passages.
            content = _QUERIES if sent["role"] == "embedder" else _PASSAGES
            key = (content, sent.get("host") or "")
            calls, tokens = sums.get(key, (0, 0))
            own_tokens = sent["prompt_tokens"] + sent["completion_tokens"]
            sums[key] = (calls + sent["calls"], tokens + own_tokens)

    lines = []
    if result.get("sent_to_tracing") == "content":
        lines.append("Sent to a tracing backend: your question, its conversation and attachments, and the answer.")
    has_replied = result.get("usage", {}).get("llm_calls", 1)
    for (content, host), (calls, tokens) in sums.items():
        # `has_replied` counts only replies of the language model. Queries went to an embedder, so they were sent.
        is_sure = has_replied or content == _QUERIES
        sent_to = "Sent to a remote model" if is_sure else "Perhaps sent to a remote model, which did not reply"
        in_tokens = f"{tokens:,} tokens, " if tokens else ""
        line = f"{sent_to}: {counted(calls, 'call')}, {in_tokens}with {content}"
        if with_host and host:
            line += f", to {host}"
        lines.append(f"{line}.")
    return lines


def hide_model_hosts(result: Result) -> Result:
    """Remove the hosts of models from a result, for the clients of the service.

    :param result: The result of a run.
    :returns: A copy without the hosts.
    """
    if "sent_to_models" not in result:
        return result.copy()
    without_hosts = []
    for sent in result["sent_to_models"]:
        without_host = sent.copy()
        without_host.pop("host", None)
        without_hosts.append(without_host)
    return {**result, "sent_to_models": without_hosts}
