from prefrag.pipelines import load
from prefrag.pipelines.drawing import mermaid


def test_names_every_component_and_every_connection():
    pipeline = load("prefrag")

    drawn = mermaid(pipeline)

    data = pipeline.to_dict()
    assert all(f"n_{name}" in drawn for name in data["components"])
    assert drawn.count("-->") == len(data["connections"])
    assert "n_judge -->|switch_web| n_to_web" in drawn
