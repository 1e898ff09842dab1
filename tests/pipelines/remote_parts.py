"""Parts that call a model on another machine."""

from typing import Any

from tests.pipelines.scripted import model, verdict

REMOTE = "api.example.org"
OPENAI_EMBEDDER = {"type": "haystack.components.embedders.openai_text_embedder.OpenAITextEmbedder"}


def dense(embedder: dict[str, Any] = OPENAI_EMBEDDER) -> dict[str, Any]:
    inner = {
        "text_embedder": embedder,
        "retriever": {"type": "tests.fakes.ScriptedVectorRetriever", "init_parameters": {}},
    }
    return {"type": "prefrag.components.retrievers.dense_retriever.DenseRetriever", "init_parameters": inner}


def remote_judge() -> dict[str, Any]:
    return {
        "type": "prefrag.components.judge.model_judge.ModelJudge",
        "init_parameters": {"chat_generator": model(verdict(True), name="judge", model_host="judge.example.org")},
    }
