"""Choose how many questions an evaluation runs at the same time.

Most model servers answer many requests at once. llama.cpp answers only as many as it has slots, by default one, and
keeps the beginning of the last prompt of each slot. If more questions run than there are slots, each call reads its
prompt anew, because another question has used the slot in between.
"""

from collections.abc import Mapping
from contextlib import suppress
from urllib.parse import urlsplit

from prefrag.components.generators.context_window import get_json
from prefrag.components.generators.model_host import is_local
from prefrag.evaluation.pipeline_under_test.experiment import EMBEDDED

# The number of questions at once for all other models.
USUAL = 4


def choose_concurrency(llm: Mapping[str, object], api_key: str = "") -> int:
    """Choose the number of questions that run at the same time.

    :param llm: What answers the questions, as :func:`describe_model` describes it.
    :param api_key: The key of the model server. Empty if it needs none.
    :returns: 1 for a model in this process. For llama.cpp's server on this machine or on a local host, its slots, but
        at most 4. Otherwise 4. Other hosts are not asked, because nobody may have allowed that.
    """
    if llm.get("kind") == EMBEDDED:
        return 1
    if not llm.get("base_url"):
        return USUAL

    root = str(llm["base_url"]).rstrip("/").removesuffix("/v1")
    if not is_local(urlsplit(root).hostname or ""):
        return USUAL
    # Other servers do not know this address. A server that cannot be reached is reported by the first question.
    with suppress(Exception):
        slots = get_json(f"{root}/props", api_key).get("total_slots")
        if type(slots) is int and slots > 0:
            return min(slots, USUAL)
    return USUAL
