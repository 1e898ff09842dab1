"""The tables of real models are computed from records alone, which hold no texts of passages and no paths."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from prefrag.errors import BadInput, Missing
from prefrag.evaluation.studies import real_model
from prefrag.evaluation.studies.real_model import (
    RECORDS,
    SUMS,
    count_new_tokens,
    digest_prompt,
    is_timed,
    lay_out,
    list_left,
    name_error,
    pack,
    read_cells,
    shorten_config,
    shorten_prediction,
)
from prefrag.evaluation.studies.tables import DETAILS, DOCUMENT
from tests.evaluation.report.run_folders import predictions
from tests.for_each import for_each

CONFIG = {
    **{"pipeline": "prefrag", "set": [], "prompts": "product", "dataset": "hotpotqa", "sources": ["local", "web"]},
    **{"split": True, "top_k": 5, "corpus": "/home/somebody/data/hotpotqa/corpus.jsonl", "simulated": False},
    "web": "/home/somebody/data/hotpotqa/corpus.jsonl",
    "llm": {"kind": "server", "base_url": "http://127.0.0.1:1/v1", "model": "small"},
}
CALL = {
    **{"messages": [{"role": "user", "text": "Passages: Beta built it."}], "parameters": {}, "tools": []},
    **{"seconds": 2.0, "reply": {"text": "Beta", "tool_calls": [], "finish_reason": "stop", "mean_logprob": -0.1}},
}


def write_cell(folder: Path, right: int, *, n: int = 40, web: int = 0, **settings: Any) -> Path:
    """Write a cell of the benchmark with this number of right answers."""
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps({**CONFIG, **settings}), encoding="utf-8")
    lines = predictions(right, n, web=web)
    for line in lines:
        line["calls"] = [CALL]
        line["result"]["answered"] = True
        line["result"]["trace"] = [
            {"kind": "found", "step": 1, "source": "local", "query": "builder", "titles": ["Gold"], "error": None},
            *[{"kind": "found", "step": 1, "source": "web", "query": "who built it", "error": None}] * web,
        ]
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (folder / "predictions.jsonl").write_text(f'{text}{{"id": "torn', encoding="utf-8")
    return folder


def unpack(file: Path) -> str:
    return gzip.decompress(file.read_bytes()).decode()


def test_record_holds_replies_and_digests_and_nothing_private(tmp_path: Path):
    """No passage, prompt, path or address."""

    file = pack(write_cell(tmp_path / "hotpotqa-prefrag", 30), tmp_path / "records")
    head, first, *others = map(json.loads, unpack(file).splitlines())

    assert (head["corpus"], head["llm"]) == ("corpus.jsonl", {"kind": "server", "model": "small"})
    assert len(others) == 39
    assert first["calls"][0]["reply"]["text"] == "Beta"
    assert first["calls"][0]["prompt_sha256"] == digest_prompt(CALL)
    assert [text for text in ("It was Beta.", "Passages:", "/home/", "127.0.0.1") if text in unpack(file)] == []


def test_a_cell_packed_twice_has_one_digest(tmp_path: Path):
    cell = write_cell(tmp_path / "hotpotqa-prefrag", 30)
    first, again = (pack(cell, tmp_path / name).read_bytes() for name in ("one", "two"))

    assert first == again


def test_the_table_has_scores_costs_and_paired_differences(tmp_path: Path):
    records = tmp_path / "records"
    pack(write_cell(tmp_path / "hotpotqa-prefrag", 30), records)
    pack(write_cell(tmp_path / "hotpotqa-vanilla_mix", 10, web=1, pipeline="vanilla_mix"), records)
    pack(write_cell(tmp_path / "hotpotqa-prefrag-plain", 30, prompts="plain"), records)

    tables = lay_out(read_cells(records))
    figures, paired = (tables[f"real model, hotpotqa{name}"].splitlines() for name in ("", ", paired"))

    assert figures[0].startswith("| HotpotQA | n | given | Acc | EM | F1 | local + web | calls |")
    assert [line.split(" | ")[0] for line in figures[2:]] == ["| `vanilla_mix`", "| `prefrag`", "| `prefrag`, plain"]
    assert "| 40 | 40 | 25.0 (12 to 38) |" in figures[2]
    assert "| 1.00 + 1.00 | 2.00 | 24 | 1 | 40 of 40 · 3.0 | 0 of 40 |" in figures[2]
    assert "| 0 of 40 · 0.0 |" in figures[3]
    assert paired[2].startswith("| `vanilla_mix` | 40 | \N{MINUS SIGN}50.0 (")
    assert "| `prefrag`, plain | 40 | 0.0 (" in paired[3]


@pytest.mark.skipif(not (RECORDS / SUMS).is_file(), reason="no records are published yet")
def test_the_published_tables_are_what_the_records_give():
    text = "".join(document.read_text(encoding="utf-8") for document in (DOCUMENT, DETAILS))

    assert [name for name, table in lay_out(read_cells(RECORDS)).items() if f"{name} -->\n{table}\n" not in text] == []


def test_other_questions_are_not_paired(tmp_path: Path):
    records = tmp_path / "records"
    pack(write_cell(tmp_path / "hotpotqa-prefrag", 30), records)
    other = write_cell(tmp_path / "hotpotqa-crag", 10, pipeline="crag")
    text = (other / "predictions.jsonl").read_text(encoding="utf-8")
    (other / "predictions.jsonl").write_text(text.replace('"question": "Who', '"question": "Why'), encoding="utf-8")
    pack(other, records)

    assert list(lay_out(read_cells(records))) == ["real model, hotpotqa"]


def test_a_changed_record_is_refused(tmp_path: Path):
    file = pack(write_cell(tmp_path / "hotpotqa-prefrag", 30), tmp_path / "records")
    file.write_bytes(gzip.compress(unpack(file).replace("Beta", "Alpha").encode(), mtime=0))

    with pytest.raises(BadInput, match=rf"is not the record that {SUMS} lists"):
        read_cells(tmp_path / "records")


def test_a_record_that_is_listed_and_missing_is_named(tmp_path: Path):
    for name in ("hotpotqa-prefrag", "hotpotqa-crag"):
        file = pack(write_cell(tmp_path / name, 30), tmp_path / "records")
    file.unlink()

    with pytest.raises(BadInput, match=rf"lacks hotpotqa-crag\.jsonl\.gz, which {SUMS} lists: fetch it again"):
        read_cells(tmp_path / "records")


def test_two_records_of_one_row_are_refused(tmp_path: Path):
    for name in ("hotpotqa-prefrag", "hotpotqa-prefrag-again"):
        pack(write_cell(tmp_path / name, 30), tmp_path / "records")

    with pytest.raises(BadInput, match="Two records are of one row"):
        read_cells(tmp_path / "records")


def test_a_folder_that_is_no_cell_is_named(tmp_path: Path):
    with pytest.raises(Missing, match="name the folder of a cell"):
        pack(tmp_path, tmp_path / "records")
    with pytest.raises(Missing, match="has no records: pack a cell"):
        read_cells(tmp_path)


@for_each("seconds, timed", ([2.0, 3.0], True), ([2.0, 0.001], False), ([None], False), ([], True))
def test_a_reply_out_of_a_recording_tells_no_time(seconds: list[Any], timed: bool):
    assert is_timed({"calls": [{"seconds": taken} for taken in seconds]}) is timed


def test_tokens_out_of_the_cache_are_not_new():
    usage = {"prompt_tokens": 500, "completion_tokens": 40, "cached_tokens": 300}

    assert count_new_tokens({"result": {"usage": usage}}) == 240
    assert count_new_tokens({"result": {}}) == 0


def test_what_left_is_what_any_source_but_the_first_was_asked():
    trace = [
        {"kind": "search", "source": "web", "query": "planned"},
        {"kind": "found", "source": "local", "query": "home"},
        {"kind": "found", "source": "web", "query": "away"},
    ]

    assert list_left({"result": {"trace": trace}}, ["local", "web"]) == ["away"]
    assert list_left({"result": {"trace": trace}}, ["web", "local"]) == ["home"]


@for_each(
    "setting, recorded",
    ({"pipeline": "prefrag", "corpus": None, "top_k": 5}, {"pipeline": "prefrag", "corpus": None, "top_k": 5}),
    (
        {"corpus": "/home/alice/c.jsonl", "prompts": "C:\\Users\\alice\\short"},
        {"corpus": "c.jsonl", "prompts": "short"},
    ),
    ({"questions": "/home/alice/q.jsonl", "started": "now", "anything": "new"}, {}),
    ({"set": ["steps=3", "judge.url=http://alice:8080/v1"]}, {"set": ["steps=3", "judge.url=address"]}),
    ({"set": ["model=/home/alice/m.gguf", "hosts=alice:9200"]}, {"set": ["model=m.gguf", "hosts=address"]}),
    ({"set": ["a=/home/alice=1", "/home/alice=1/m.gguf"]}, {"set": ["a=alice=1", "m.gguf"]}),
    ({"files": {"/home/alice/trees.json": "ab12"}}, {"files": {"trees.json": "ab12"}}),
    (
        {"llm": {"model": "/models/alice/m.gguf", "base_url": "http://alice", "judge": {"base_url": "http://alice"}}},
        {"llm": {"model": "m.gguf", "judge": {}}},
    ),
    ({"llm": {"kind": "server", "model": "http://10.0.0.1/m"}}, {"llm": {"kind": "server", "model": "address"}}),
    ({"llm": {"kind": "server", "model": "qwen3:4b"}}, {"llm": {"kind": "server", "model": "qwen3:4b"}}),
)
def test_of_the_settings_only_names_are_recorded(setting: dict[str, Any], recorded: dict[str, Any]):
    assert shorten_config(setting) == recorded


@for_each(
    "message, kind",
    (None, None),
    ("", None),
    ("ConnectError: http://alice:8080 refused", "ConnectError"),
    ("TimeoutError", "TimeoutError"),
    ("No model server answers at http://alice:8080.", "error"),
    ("AliceErrors of /home/alice", "error"),
)
def test_of_an_error_only_its_kind_is_recorded(message: str | None, kind: str | None):
    assert name_error(message) == kind


def test_no_error_of_a_question_gives_an_address_away():
    failed = "No model server answers at http://alice:8080."
    sent = {"source": "web", "query": "who", "provider": "DDGS", "error": failed, "seconds": 1.0}
    result = {"trace": [{"kind": "found", "source": "web", "error": failed}], "queries_sent_out": [sent]}
    recorded = shorten_prediction(
        {"id": "1", "question": "Who?", "error": failed, "result": result, "calls": [{"seconds": 1.0, "error": failed}]}
    )

    assert "alice" not in json.dumps(recorded)
    assert json.dumps(recorded).count('"error": "error"') == 4


def test_the_command_packs_and_writes_the_tables_into_a_document(tmp_path: Path):
    cell, document = write_cell(tmp_path / "hotpotqa-prefrag", 30), tmp_path / "own.md"
    document.write_text("<!-- real model, hotpotqa -->\n", encoding="utf-8")
    app = typer.Typer()
    app.command()(real_model.main)
    records, other = str(tmp_path / "records"), tmp_path / "other.md"
    other.write_text("nothing", encoding="utf-8")
    told = CliRunner().invoke(
        app, ["--add", str(cell), "--records", records, "--into", str(other), "--into", str(document)]
    )
    refused = CliRunner().invoke(app, ["--records", str(tmp_path / "none")])
    homeless = CliRunner().invoke(app, ["--records", records, "--into", str(other)])

    assert (told.exit_code, refused.exit_code, homeless.exit_code) == (0, 3, 2)
    assert "No document has a place for real model, hotpotqa" in homeless.stderr
    assert "| `prefrag` | 40 | 40 | 75.0" in document.read_text(encoding="utf-8")
