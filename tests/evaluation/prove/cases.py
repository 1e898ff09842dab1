"""Records of questions that were asked, as a proof counts them."""

from typing import Any


def case(number: int, shared: float = 0.5, probability: float = 0.9, **verdicts: str) -> dict[str, Any]:
    worlds = {world.replace("_", " "): verdict for world, verdict in verdicts.items()}
    texts = dict.fromkeys(("question", "sentence", "denied", "changed", "title"), "")
    return texts | {
        "id": f"{number:03}",
        "seconds": 1.0,
        "document": f"file-{number}",
        "kind": "text",
        "shared": shared,
        "written_by": "form",
        "worlds": {world: answer(verdict, probability) for world, verdict in worlds.items()},
        "other_loop": {},
        "would_leave": {},
    }


def answer(verdict: str, probability: float = 0.9) -> dict[str, Any]:
    return {
        "verdict": verdict,
        "probability": probability,
        "answer": "x",
        "certainty": "stated",
        "by": "reader",
        "evidence": "",
    }


def compared(own: str, other: str, number: int) -> list[dict[str, Any]]:
    return [
        case(place, as_it_is=own, without="withheld")
        | {"other_loop": {"as it is": answer(other), "without": answer("withheld")}}
        for place in range(number)
    ]
