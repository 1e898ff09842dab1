"""The picture of a pipeline."""

from __future__ import annotations

from pathlib import Path

from prefrag.pipelines import load
from prefrag.pipelines.drawing import mermaid


def test_names_every_component_and_every_connection():
    pipeline = load("prefrag")

    drawn = mermaid(pipeline)

    data = pipeline.to_dict()
    assert all(f"n_{name}" in drawn for name in data["components"])
    assert drawn.count("-->") == len(data["connections"])
    assert "n_judge -->|switch_web| n_to_web" in drawn


def test_the_docs_show_the_picture_of_the_shipped_yaml():
    page = Path(__file__).parents[2] / "docs" / "pipelines.md"

    assert mermaid(load("prefrag")) in page.read_text(encoding="utf-8")
