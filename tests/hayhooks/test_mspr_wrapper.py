"""The wrapper that Hayhooks loads for MSPR."""

from __future__ import annotations

from pathlib import Path

import pytest
from hayhooks.server.utils.module_loader import create_pipeline_wrapper_instance, load_pipeline_module

from tests.pipelines.scripted import answer, scripted_yaml, search, verdict

FOLDER = Path(__file__).resolve().parents[2] / "hayhooks" / "mspr"
REVIEW = '{"effectiveness": "Yes.", "completeness": "Yes.", "correctness": "Yes.", "label": "True"}'


async def test_answers_over_rest(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    script = (search("alpha", tool="Search_Local"), answer("1974", None), REVIEW)
    text = scripted_yaml(*script, verdicts=(verdict(True),), pipeline="mspr")
    (tmp_path / "mspr.yaml").write_text(text, encoding="utf-8")
    monkeypatch.setenv("PREFRAG_PIPELINES_DIR", str(tmp_path))
    wrapper = create_pipeline_wrapper_instance(load_pipeline_module("mspr", FOLDER, package_name="served_mspr"))

    result = await wrapper.run_api_async(question="In which year did the yard that built alpha win the prize?")

    assert (result["answer"], result["label"]) == ("1974", "CORRECT")
    assert [document["id"] for document in result["documents"]] == ["local-alpha"]
