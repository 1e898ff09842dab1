"""MSPR with a script for each component that calls a model."""

import json
from typing import Any

from tests.pipelines.scripted import answer, model, scripted, verdict

SUMMARY = "Beta built Alpha [[1]]."


def final(text: str = "1974") -> str:
    return answer(text, label=None)


def review(passed: bool) -> str:
    aspects = {"effectiveness": "It answers.", "completeness": "Nothing lacks.", "correctness": "As passage 1 says."}
    return json.dumps({**aspects, "label": str(passed)})


def mspr(
    *replies: str,
    verdicts: tuple[str, ...] = (verdict(True),),
    reviews: tuple[str, ...] = (review(True),),
    summaries: tuple[str, ...] = (SUMMARY,),
    replace: dict[str, Any] | None = None,
    **settings: Any,
) -> Any:
    """Load MSPR with a script for each component that calls a model."""
    own = {
        "reviewer.chat_generator": model(*reviews, name="reviewer"),
        "refiner.chat_generator": model(*summaries, name="refiner"),
    }
    return scripted(*replies, verdicts=verdicts, pipeline="mspr", replace=own | (replace or {}), **settings)
