"""Questions on towns and rivers, in a dataset."""

from pathlib import Path

from prefrag.training.dataset import Dataset
from tests.training.towns import river, write_dataset

TOWNS = ["Belba", "Cormo", "Dunri"]


def written(
    folder: Path, *, hops: int = 2, towns: list[str] = TOWNS, start: str = "How long is the river of"
) -> Dataset:
    """Questions on towns and, with two hops, on the rivers that only the towns' passages name."""
    questions, corpus = [], []
    for name in towns:
        asked = {"question": f"{start} {name}?", "answers": [f"{name} miles"]}
        questions.append({"id": name, **asked, "supporting_ids": [name, f"r-{name}"][:hops]})
        corpus.append({"id": name, "title": name, "text": f"{name} is a town on the {river(name)}."})
        corpus.append({"id": f"r-{name}", "title": river(name), "text": f"{river(name)} is long and wide."})
    return write_dataset(folder, questions, corpus)
