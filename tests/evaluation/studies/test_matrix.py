"""Which evaluations the matrix makes, and their table."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest
import typer

from prefrag.evaluation.metrics import summarise
from prefrag.evaluation.pipeline_under_test.experiment import SIMULATED, Experiment
from prefrag.evaluation.pipeline_under_test.variants import read_pipeline
from prefrag.evaluation.studies import matrix
from prefrag.evaluation.studies.matrix import Cell, combine_cells, print_table, write_judge_pipelines
from prefrag.evaluation.studies.paper_table import PAPER_TABLES, PaperTable
from tests.evaluation.report.run_folders import prediction, predictions, write_run
from tests.for_each import for_each


def judge_errors(pipeline: str) -> list[float]:
    made = combine_cells([Path("musique")], [pipeline], "dev", {"top_k": [5], "judge_error": [0.0, 0.1], "seed": [0]})
    return [cell.experiment.judge_error for cell in made]


def test_errors_of_the_judge_are_tried_where_a_model_judges():
    judged = ("prefrag", "mspr", "prefrag_linked", "prefrag_without_reflection")
    others = ("prefrag_classifier", "react", "vanilla_mix", "dr_rag_qdc", "prefrag_direct")

    assert {name: judge_errors(name) for name in judged} == {key: [0.0, 0.1] for key in judged}
    assert {name: judge_errors(name) for name in others} == {key: [0.0] for key in others}


def test_judges_that_may_ask_the_model_are_tried_with_errors(tmp_path: Path):
    tried = {name: judge_errors(file) for name, file in write_judge_pipelines(tmp_path).items()}

    asking = {"model", "cascade_40_60", "cascade_20_80", "cascade_10_90"}
    assert {name for name, errors in tried.items() if len(errors) == 2} == asking


def cells(pipeline: str, dataset: Path = Path("musique"), **settings: list[Any]) -> list[dict[str, Any]]:
    """The settings of each evaluation that is made."""
    made = combine_cells([dataset], [pipeline], "dev", {"top_k": [5], **settings})
    return [{name: getattr(cell.experiment, name) for name in settings} for cell in made]


CHOICES: dict[str, list[Any]] = {"source_choice": ["drawn", "first", "last"]}
NOISE: dict[str, list[Any]] = {"web_sentences": [0, 2], "web_junk": [0.0, 0.2]}


def test_source_choice_noise_queries_are_tried_if_they_matter():
    naming = ("react", "prefrag_without_preference", "prefrag_direct", "mspr")
    others = ("prefrag", "react_mix", "dr_rag_qdc", "vanilla_mix", "no_retrieval")

    assert {name: len(cells(name, **CHOICES)) for name in naming} == dict.fromkeys(naming, 3)
    assert {name: cells(name, **CHOICES) for name in others} == {key: [{"source_choice": "drawn"}] for key in others}

    assert len(cells("prefrag", **NOISE)) == len(cells("vanilla_web", **NOISE)) == 4
    assert cells("vanilla_local", **NOISE) == cells("dr_rag_qdc", **NOISE) == [{"web_sentences": 0, "web_junk": 0.0}]

    kinds: dict[str, list[Any]] = {"queries": ["dataset", "alike"]}
    assert len(cells("prefrag", **kinds)) == len(cells("react", **kinds)) == 2
    assert len(cells("vanilla_mix", **kinds)) == len(cells("dr_rag_qdc", **kinds)) == 1


def test_yes_no_rules_are_tried_for_several_needed_passages(tmp_path: Path):
    def tried(answer: str, *passages: str) -> int:
        record = {"id": "q", "question": "Is it?", "answers": [answer], "supporting_ids": passages}
        (tmp_path / "dev.jsonl").write_text(json.dumps(record))
        return len(cells("prefrag", tmp_path, yes_no=["one", "half", "all"]))

    assert tried("yes", "p1", "p2") == 3
    assert tried("yes", "p1") == tried("Corvo", "p1", "p2") == 1


def test_seeds_are_repeated_only_where_something_is_drawn():
    seeds: dict[str, list[Any]] = {"seed": [0, 1, 2]}

    def tried(name: str, **settings: list[Any]) -> list[int]:
        return [cell["seed"] for cell in cells(name, **seeds, **settings)]

    assert tried("prefrag") == tried("vanilla_mix", judge_error=[0.1]) == tried("vanilla_local", web_junk=[0.2]) == [0]
    assert tried("prefrag", judge_error=[0.1]) == tried("react") == tried("prefrag", web_junk=[0.2]) == [0, 1, 2]
    assert tried("react", source_choice=["first"]) == [0]
    assert tried("prefrag", distraction=[0.0, 0.02]) == [0, 0, 1, 2]
    assert tried("prefrag", memory=[0.1]) == tried("prefrag", answer_error=[0.1]) == [0, 1, 2]


def test_the_table_has_a_column_for_each_setting(tmp_path: Path) -> None:
    experiment = Experiment(
        llm=SIMULATED, top_k=5, seed=0, source_choice="last", yes_no="half", memory=0.1, queries="alike"
    )
    done = {
        Cell(name, tmp_path, "dev", experiment): summarise([prediction("a", True)]) for name in ("react", "dr_rag_qdc")
    }
    matrix.write_table(done, tmp_path / "t.csv")

    row, without = csv.DictReader((tmp_path / "t.csv").open(encoding="utf-8"))
    named = ("source choice", "yes/no", "answer error", "memory", "queries", "web sentences", "web junk")
    assert [row[name] for name in named] == ["last", "half", "0.0", "0.1", "alike", "0", "0.0"]
    assert [without[name] for name in named] == ["-", "half", "0.0", "0.1", "-", "-", "-"]


def test_the_table_counts_the_failed_questions(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    experiment = Experiment(llm=SIMULATED, top_k=5, seed=0)
    whole, broken = (Cell("prefrag", tmp_path / name, "dev", experiment) for name in ("whole", "broken"))
    lines = [prediction("a", True), prediction("b", True)]
    failed = [lines[0], prediction("b", True, error="the server is down")]

    done = {whole: summarise(lines), broken: summarise(failed)}
    print_table(done)

    head, *rows = matrix.list_rows(done)
    assert [[row[head.index(name)] for name in ("dataset", "n", "errors", "acc")] for row in rows] == [
        ["whole", "2", "0", "100.00"],
        ["broken", "2", "1", "50.00"],
    ]
    printed = capsys.readouterr()
    assert "| n | errors | acc |" in printed.out
    assert printed.err.count("failed") == 1
    assert "broken-dev/prefrag/k5-judge0-distraction0-seed0: 1 of 2 questions failed (score 0)" in printed.err


def test_combinations_are_evaluations_in_folders_of_their_own():
    settings = {"top_k": [3, 5], "judge_error": [0.0], "distraction": [0.0, 0.02], "seed": [0], "split": [False]}

    made = list(combine_cells([Path("musique"), Path("hotpotqa")], ["react"], "train", settings))

    assert len({cell.folder for cell in made}) == len(made) == 8
    assert made[0].folder == "musique-train/react/k3-judge0-distraction0-seed0-whole"
    assert made[0].experiment.corpus == Path("musique/corpus.jsonl")

    first, other = combine_cells(
        [Path("musique")], ["react"], "dev", {"top_k": [5], "source_choice": ["drawn", "last"]}
    )
    assert other.folder == f"{first.folder}-sourcechoicelast"


def test_each_kind_of_prompts_has_a_folder_of_its_own():
    settings: dict[str, list[Any]] = {"top_k": [5], "prompts": ["plain", "product"]}

    plain, product = combine_cells([Path("musique")], ["prefrag"], "dev", settings)

    assert product.folder == f"{plain.folder}-promptsproduct"


@for_each(
    "changed, folder",
    ({"model": "qwen3:4b"}, "musique-dev/prefrag/k5-judge0-distraction0-seedNone-qwen3_4b"),
    ({"model": "org/small"}, "musique-dev/prefrag/k5-judge0-distraction0-seedNone-org_small"),
    ({"changes": ("a.b=http://x:1/?",)}, "musique-dev/prefrag a.b=http___x_1__/k5-judge0-distraction0-seedNone-model"),
)
def test_a_folder_has_a_name_that_every_system_allows(changed: dict[str, Any], folder: str):
    experiment = Experiment(llm="http://127.0.0.1:1/v1", top_k=5, **changed)

    assert Cell("prefrag", Path("musique"), "dev", experiment).folder == folder


def test_changed_settings_are_in_the_name_of_an_evaluation():
    settings = {"top_k": [5], "judge_error": [0.0], "seed": [0], "changes": [("local.observed_last=true",)]}

    [made] = combine_cells([Path("musique")], ["prefrag"], "dev", settings)

    assert made.name == "prefrag local.observed_last=true"
    assert made.folder == "musique-dev/prefrag local.observed_last=true/k5-judge0-distraction0-seed0"


def test_ablations_and_controls_run_by_name():
    [made] = combine_cells([Path("musique")], ["mspr_without_car"], "dev", {"top_k": [5], "judge_error": [0.0]})

    assert made.name == "mspr_without_car"
    assert judge_errors("mspr_without_prs") == [0.0]
    assert judge_errors("mspr_without_car") == [0.0, 0.1]


def put_dataset(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("corpus.jsonl", "dev.jsonl"):
        (folder / name).write_text('{"id": "a", "question": "What?", "answers": ["b"], "supporting_ids": []}')
    return folder


class TestPaperTable:
    @pytest.fixture
    def made(self, monkeypatch: pytest.MonkeyPatch) -> list[Cell]:
        """The evaluations that are made; nothing runs."""
        made: list[Cell] = []
        monkeypatch.setattr(matrix, "evaluate_all", lambda wanted, *_, **__: made.extend(wanted) or {})
        monkeypatch.setattr(PaperTable, "lay_out", lambda *_: "laid out")
        return made

    def test_runs_methods_datasets_and_k_in_order_with_the_model(self, tmp_path: Path, made: list[Cell]):
        for name in ("musique", "hotpotqa", "own"):
            put_dataset(tmp_path / name)

        matrix.main([tmp_path], tmp_path / "runs", changes=["seed=3"], table="prefrag-16", llm="http://localhost:1/v1")

        tried = [(cell.pipeline, cell.dataset.name, cell.experiment.top_k) for cell in made]
        assert tried == [
            (pipeline, dataset, k)
            for pipeline in ("vanilla_mix", "prefrag")
            for dataset in ("hotpotqa", "musique")
            for k in (3, 5, 7)
        ]
        assert {(cell.experiment.llm, cell.experiment.split, cell.experiment.seed) for cell in made} == {
            ("http://localhost:1/v1", True, 3)
        }
        assert made[0].folder.endswith("-split-model")

    def test_has_pipelines_with_changed_settings(self, tmp_path: Path, made: list[Cell]):
        put_dataset(tmp_path / "hotpotqa")

        matrix.main([tmp_path], tmp_path / "runs", table="dr-rag-4")

        assert [cell.name for cell in made][:3] == [
            "dr_rag_cis QueryDocConcat.parts=[]",
            "dr_rag_cfs QueryDocConcat.parts=[]",
            "dr_rag_qdc",
        ]
        assert all(cell.experiment.split is False for cell in made)

    def test_says_what_cannot_be_run(self, tmp_path: Path, made: list[Cell], capsys: pytest.CaptureFixture[str]):
        put_dataset(tmp_path / "hotpotqa")

        matrix.main([tmp_path], tmp_path / "runs", table="prefrag-1")

        told = capsys.readouterr().err
        assert "also has 2wikimultihopqa, musique, bioasq, of which there is no folder" in told
        assert "Without a model, flare cannot be run." in told
        assert "flare" not in {cell.pipeline for cell in made}

    @for_each(
        "options, message",
        ({"table": "prefrag-99"}, "no table 'prefrag-99': choose from prefrag-1"),
        ({"table": "prefrag-1", "pipeline": ["react"]}, "leave --pipeline and --judges out"),
        ({"table": "prefrag-1"}, "is over hotpotqa, 2wikimultihopqa, musique, bioasq"),
    )
    def test_that_cannot_be_made_is_refused(self, tmp_path: Path, options: dict[str, Any], message: str):
        put_dataset(tmp_path / "own")

        with pytest.raises(typer.BadParameter, match=message):
            matrix.main([tmp_path], tmp_path / "runs", **options)

    @for_each("id", *PAPER_TABLES)
    def test_names_pipelines_that_exist(self, id: str):
        table = PaperTable.find(id)

        assert all(read_pipeline(name, changed) for name, *changed in map(str.split, table.pipelines))
        assert set(table.datasets) <= {"hotpotqa", "2wikimultihopqa", "musique", "bioasq"}

    def test_is_laid_out_as_the_report_lays_it_out(self, tmp_path: Path):
        for name in ("react_mix", "prefrag"):
            write_run(tmp_path / name, predictions(20), pipeline=name)

        text = PaperTable.find("prefrag-7").lay_out([tmp_path])

        assert text.startswith("Retrievals per question (PrefRAG, A.6). ")
        assert "| Method | musique Acc |" in text
        assert "| prefrag | 50.0 (" in text
        assert "have nothing to compare" in PaperTable.find("mspr-1").lay_out([tmp_path])


def test_the_command_tries_each_of_several_values(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    made: list[Cell] = []
    monkeypatch.setattr(matrix, "evaluate_all", lambda wanted, *_, **__: made.extend(wanted) or {})
    put_dataset(tmp_path)
    experiment = tmp_path / "experiment.yaml"
    experiment.write_text("top_k: [5, 7]\ndistraction: 0\nmemory: 0.1\n")

    matrix.main(
        [tmp_path],
        tmp_path / "runs",
        ["prefrag"],
        ["judge_error=0,0.1", "top_k=5", "local.observed_last=true"],
        experiment,
    )

    tried = [(cell.experiment.top_k, cell.experiment.judge_error, cell.experiment.memory) for cell in made]
    assert tried == [(5, 0.0, 0.1), (5, 0.1, 0.1)]
    assert {cell.experiment.changes for cell in made} == {("local.observed_last=true",)}
