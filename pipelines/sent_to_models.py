"""Describe what a run sent to models on other machines, and to a tracing backend."""

from collections.abc import Mapping
from typing import Any

from prefrag.components.text.counted import counted


def write_sent_to_models(result: Mapping[str, Any], with_host: bool = True) -> list[str]:
    """Describe what a run sent to models that are neither on this machine nor on a host that counts as local."""
    has_replied = result.get("usage", {}).get("llm_calls", 1)
    passages = "Sent to a remote model: " if has_replied else "Perhaps sent to a remote model, which did not reply: "
    sums: dict[tuple[str, str], tuple[int, int]] = {}
    for sent in result.get("sent_to_models") or ():
        if sent["remote"]:
            # An embedder gets only queries, no passages.
            key = ("your queries" if sent["role"] == "embedder" else "your passages", sent.get("host") or "")
            calls, tokens = sums.get(key, (0, 0))
            sums[key] = calls + sent["calls"], tokens + sent["prompt_tokens"] + sent["completion_tokens"]
    traced = ["Sent to a tracing backend: your question, its conversation and attachments, and the answer."]
    return (traced if result.get("sent_to_tracing") == "content" else []) + [
        f"{'Sent to a remote model: ' if content == 'your queries' else passages}{counted(calls, 'call')}, "
        f"{f'{tokens:,} tokens, ' if tokens else ''}with {content}" + (f", to {host}." if with_host and host else ".")
        for (content, host), (calls, tokens) in sums.items()
    ]


def hide_model_hosts(result: Mapping[str, Any]) -> dict[str, Any]:
    """Remove the hosts of models from a result, for the clients of the service."""
    if "sent_to_models" not in result:
        return dict(result)
    hidden = [{name: value for name, value in sent.items() if name != "host"} for sent in result["sent_to_models"]]
    return {**result, "sent_to_models": hidden}
