"""The wrappers that Hayhooks loads for the baselines and the variants of PrefRAG."""

from __future__ import annotations

from pathlib import Path

import pytest
from hayhooks.server.utils.module_loader import create_pipeline_wrapper_instance, load_pipeline_module

from tests.pipelines.scripted import scripted_yaml

FOLDERS = Path(__file__).resolve().parents[2] / "hayhooks"
NAMES = [
    "no_retrieval",
    "vanilla_local",
    "vanilla_web",
    "vanilla_mix",
    "react",
    "react_mix",
    "prefrag_classifier",
    "prefrag_linked",
    "mspr_linked",
    "prefrag_direct",
    "prefrag_without_preference",
    "prefrag_without_reflection",
]


@pytest.mark.parametrize("name", NAMES)
async def test_a_folder_serves_the_pipeline_of_its_name(name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    (tmp_path / f"{name}.yaml").write_text(scripted_yaml("Final Answer: 1974", pipeline=name), encoding="utf-8")
    monkeypatch.setenv("PREFRAG_PIPELINES_DIR", str(tmp_path))

    module = load_pipeline_module(name, FOLDERS / name, package_name=f"served_{name}")
    result = await create_pipeline_wrapper_instance(module).run_api_async(question="When did delta win?")

    assert result["answer"] == "1974"
