"""From training questions to pairs: runs of a pipeline, nine replies at each judged step, one file of pairs."""

import itertools
import json
import re
import shutil
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import prefrag.training.judge_dpo.collection
from prefrag.cli.main import app
from prefrag.components.judge.model_judge import ModelJudge
from prefrag.components.judge.source_switch_judge import SourceSwitchJudge
from prefrag.evaluation.pipeline_under_test.experiment import Experiment
from prefrag.evaluation.pipeline_under_test.setup import Setup
from prefrag.evaluation.settings_file import make_settings, read_fields
from prefrag.pipelines import ask
from prefrag.training.judge_dpo.candidates import GRID, JudgedStep
from prefrag.training.judge_dpo.collection import HELD_OUT, PAIRS, REPORT, STEPS, Plan, collect
from prefrag.training.judge_dpo.commands import make_gold_model
from prefrag.training.judge_dpo.pairs import Pair, SampledStep, balance
from prefrag.training.judge_dpo.report import Collected, print_report, write_report
from tests.components.generators.fake_model_server import FakeModelServer, completion
from tests.for_each import for_each
from tests.training.judge_dpo.samples import Model, by_point, read_lines, reply, write_dataset

PUBLISHED = Path(prefrag.training.judge_dpo.collection.__file__).with_name("published.yaml")
PLAN = Plan(labels="gold", llm="simulated", held_out=0.0, most_true=50, most_false=50, top_k=(2, 2))


@dataclass(frozen=True)
class Collection:
    """A finished collection, which tests do not change.

    :param folder: Its folder.
    :param small: The model that replied.
    :param report: The report.
    """

    folder: Path
    small: Model
    report: dict[str, Any]

    def copy(self, folder: Path) -> Path:
        shutil.copytree(self.folder, folder, dirs_exist_ok=True)
        return folder


def gather(folder: Path, plan: Plan = PLAN, count: int = 8, **settings: Any) -> dict[str, Any]:
    settings.setdefault("small", Model())
    return collect([write_dataset(folder / "data", count)], folder / "out", plan, **settings)


@pytest.fixture(scope="module")
def collected(tmp_path_factory: pytest.TempPathFactory) -> Collection:
    with pytest.MonkeyPatch.context() as environment:
        folder, small = tmp_path_factory.mktemp("collected"), Model()
        environment.setenv("PREFRAG_DATA_DIR", str(folder / "indexes"))
        return Collection(folder, small, gather(folder, small=small))


@pytest.fixture(scope="module")
def agreed(tmp_path_factory: pytest.TempPathFactory) -> Collection:
    """A collection with a small model that always says True."""
    with pytest.MonkeyPatch.context() as environment:
        folder, small = tmp_path_factory.mktemp("agreed"), Model(lambda prompt, parameters: reply(True))
        environment.setenv("PREFRAG_DATA_DIR", str(folder / "indexes"))
        return Collection(folder, small, gather(folder, small=small))


def steps(folder: Path) -> list[dict[str, Any]]:
    return [step for run in read_lines(folder / "out" / STEPS) for step in run["steps"]]


def test_a_judged_step_gets_nine_replies_one_for_each_point(collected: Collection):
    assert collected.small.calls
    by_prompt: dict[str, list[Any]] = {}
    for call in collected.small.calls:
        by_prompt.setdefault(call["messages"][0].text, []).append((call["temperature"], call["top_p"]))
    assert all(sorted(points) == sorted(GRID) for points in by_prompt.values())
    assert len({call["seed"] for call in collected.small.calls}) == len(collected.small.calls)


def test_the_prompt_is_the_one_that_is_served(tmp_path: Path, collected: Collection):
    dataset, served = write_dataset(tmp_path / "data"), Model()
    setup = Setup("prefrag", Experiment(corpus=dataset.corpus, llm="simulated", prompts="product"), dataset.questions)
    runs = read_lines(collected.folder / "out" / STEPS)
    with setup.environment():
        pipeline = setup.build()
        judge = next(part for _, part in pipeline.walk() if isinstance(part, SourceSwitchJudge))
        own = judge.judge.model_judge
        judge.judge = ModelJudge(served, own.prompt, own.generation_kwargs)
        judge.judge_repeated, pipeline.get_component("start").first_query = True, "model"
        for run in runs:
            ask(run["question"], pipeline, top_k=2)

    sent = [[{"role": m.role.value, "content": m.text} for m in call["messages"]] for call in served.calls]
    first = [run["steps"][0]["prompt"] for run in runs if run["steps"]]
    assert first
    assert all(prompt in sent for prompt in first)


def test_a_pair_is_two_sampled_texts_with_different_verdicts(
    collected: Collection,
):
    assert {step["step"] for step in steps(collected.folder)} <= {2, 3, 4}, "the first step is not judged"
    pairs = read_lines(collected.folder / "out" / PAIRS)
    assert pairs
    for pair in pairs:
        [chosen], [rejected] = pair["chosen"], pair["rejected"]
        texts = {reply["text"]: reply["status"] for reply in pair["replies"]}
        assert chosen["role"] == rejected["role"] == "assistant"
        assert texts[chosen["content"]] == pair["status"]
        assert texts[rejected["content"]] not in (pair["status"], None)
        assert pair["canonical"] is None
        assert pair["question_id"].startswith("q-")
        assert pair["step"] >= 2
        assert (pair["top_k"], pair["seed"]) == (2, PLAN.seed)
        assert pair["models"] == {"small": "small", "gold": "gold passages"}
        points = {(reply["temperature"], reply["top_p"]): reply["text"] for reply in pair["replies"]}
        assert len(pair["replies"]) == len(points) == 9
        assert points[tuple(pair["chosen_point"].values())] == chosen["content"]
        assert points[tuple(pair["rejected_point"].values())] == rejected["content"]


def test_a_step_whose_replies_agree_is_dropped_and_counted(agreed: Collection, collected: Collection):
    verdicts = agreed.report["gold_verdicts"]
    assert agreed.report["pairs"]["total"] == 0
    assert agreed.report["dropped"] == {"no negative": verdicts["True"], "no positive": verdicts["False"]}
    assert agreed.report["judged_steps_by_iteration"] == collected.report["judged_steps_by_iteration"]


def test_a_missing_reply_is_written_from_a_template_if_canonical(tmp_path: Path, agreed: Collection):
    report = gather(agreed.copy(tmp_path), replace(PLAN, canonical=True))

    pairs = read_lines(tmp_path / "out" / PAIRS)
    assert report["dropped"] == {}
    assert report["kept"]["canonical"] == len(pairs) > 0
    for pair in pairs:
        side = "rejected" if pair["status"] == "True" else "chosen"
        assert pair["canonical"] == side
        assert json.loads(pair[side][0]["content"])["status"] == "False"


def test_an_unreadable_reply_is_neither_preferred_nor_rejected(tmp_path: Path):
    def some(prompt: str, parameters: dict[str, Any]) -> str:
        return "Perhaps." if parameters["temperature"] == 0.5 else by_point(prompt, parameters)

    report = gather(tmp_path, count=4, small=Model(some))

    pairs = read_lines(tmp_path / "out" / PAIRS)
    assert all("Perhaps." not in (pair["chosen"][0]["content"], pair["rejected"][0]["content"]) for pair in pairs)
    assert report["replies_unreadable"] == report["replies"] / 3


class TestOwnTrajectory:
    OWN = replace(PLAN, trajectory="own")

    def test_own_trajectory_goes_on_with_the_first_reply(self, tmp_path: Path, agreed: Collection):
        gather(tmp_path, self.OWN, small=Model(lambda prompt, parameters: reply(True)))

        # A model that keeps everything never reaches the web, so its later steps differ.
        assert [step["prompt"] for step in steps(tmp_path)] != [step["prompt"] for step in steps(agreed.folder)]

    def test_is_that_of_gold_where_a_reply_agrees_with_it(self, tmp_path: Path, collected: Collection):
        gather(tmp_path, self.OWN)

        assert (tmp_path / "out" / PAIRS).read_text() == (collected.folder / "out" / PAIRS).read_text()

    def test_keeps_what_was_found_where_no_reply_can_be_read(self, tmp_path: Path):
        report = gather(tmp_path, self.OWN, 4, small=Model(lambda prompt, parameters: "Perhaps."))

        assert report["replies_unreadable"] == report["replies"] > 0
        assert report["questions_failed"] == 0


def test_the_published_experiment_has_the_authors_values(tmp_path: Path):
    plan = make_settings(Plan, read_fields(Plan, PUBLISHED))
    assert (plan.trajectory, plan.top_k, plan.labels, plan.limit) == ("own", (2, 5), "model", 15_000)
    small = Model()

    gather(tmp_path, replace(plan, labels="gold", llm="simulated"), 2, small=small)

    assert {(call["max_tokens"], "response_format" in call) for call in small.calls} == {(4_096, False)}
    config = json.loads((tmp_path / "out" / "config.json").read_text())
    assert (config["prompts"], config["trajectory"], len(config["prompts_sha256"])) == ("plain", "own", 64)
    setup = Setup(plan.pipeline, Experiment(changes=plan.changes))
    sampling = {"temperature": 0.9, "top_p": 0.9, "max_tokens": 4_096}
    assert [setup.build().get_component(name).generation_kwargs for name in ("reasoner", "forced")] == [sampling] * 2


def test_a_balance_that_drops_most_pairs_is_warned_of(tmp_path: Path, collected: Collection):
    made = collected.report["pairs"]["by_status"]
    folder = collected.copy(tmp_path)

    report = gather(folder, replace(PLAN, most_true=1_000, most_false=10))

    assert collected.report["warnings"] == []
    [warning] = report["warnings"]
    count = report["kept"]["by_status"].get("False", 0)
    assert warning.startswith(f"of {made['False']} pairs with the verdict False, only {count} are kept, because only")
    assert f"warning: {warning}" in print_report(report)
    advised = replace(PLAN, most_true=made["True"], most_false=made["False"])
    assert gather(folder, advised)["kept"]["by_status"] == made


def test_the_advice_for_one_verdict_can_be_typed_as_printed():
    sampled = SampledStep("data", "q", "q", 5, JudgedStep(2, [], [], None))
    pairs = [Pair(sampled, "a", "b", False)] * 11
    collected = Collected(11, 0, 0, [], 0, {}, pairs, balance(pairs, 3_000, 1_000, 7), [])
    [warning] = write_report(collected, 3_000, 1_000)["warnings"]
    advised = read_fields(Plan, None, re.findall(r"--set (\S+)", warning))

    plan = make_settings(Plan, advised)

    assert (plan.most_true, plan.most_false) == (0, 11)
    assert len(balance(pairs, plan.most_true, plan.most_false, plan.seed)) == 11


def test_a_balance_without_any_pair_is_refused():
    with pytest.raises(ValueError, match="both 0, so no pair would be kept"):
        replace(PLAN, most_true=0, most_false=0)


@pytest.mark.slow
def test_a_stopped_collection_ends_like_one_that_was_not(tmp_path: Path, collected: Collection):
    whole = collected.report
    gather(tmp_path, replace(PLAN, limit=3))
    with (tmp_path / "out" / STEPS).open("ab") as file:
        file.write(b'{"dataset": "data/questions", "id": "q-')
    small = Model()

    report = gather(tmp_path, small=small)

    assert report == whole
    assert (tmp_path / "out" / PAIRS).read_text() == (collected.folder / "out" / PAIRS).read_text()
    assert 0 < len(small.calls) < whole["replies"]


@pytest.mark.slow
def test_concurrency_changes_nothing_but_the_order_of_the_runs(tmp_path: Path, collected: Collection):
    assert gather(tmp_path, concurrency=1) == collected.report
    assert (tmp_path / "out" / PAIRS).read_text() == (collected.folder / "out" / PAIRS).read_text()


def test_a_text_that_two_questions_share_runs_once(tmp_path: Path):
    dataset = write_dataset(tmp_path / "data", 3)
    lines = dataset.questions.read_text().splitlines()
    again = json.loads(lines[0]) | {"id": "again"}
    dataset.questions.write_text("\n".join([*lines, json.dumps(again)]) + "\n")

    report = collect([dataset], tmp_path / "out", PLAN, small=Model())

    assert (report["questions"], report["questions_repeated"]) == (3, 1)


@pytest.mark.slow
def test_held_out_steps_are_balanced_and_in_no_pair(tmp_path: Path):
    gather(tmp_path, replace(PLAN, held_out=0.5, top_k=(2, 5)), count=20)

    held_out = read_lines(tmp_path / "out" / HELD_OUT)
    pairs = read_lines(tmp_path / "out" / PAIRS)
    counts = Counter(step["status"] for step in held_out)
    assert counts["True"] == counts["False"] > 0
    assert {step["question_id"] for step in held_out}.isdisjoint(pair["question_id"] for pair in pairs)
    assert all("chosen" not in step for step in held_out)
    # The number of documents is drawn for each question.
    assert {run["top_k"] for run in read_lines(tmp_path / "out" / STEPS)} == {2, 3, 4, 5}


def test_a_failing_model_ends_the_collection_until_the_next_call(tmp_path: Path):
    with pytest.raises(ConnectionError, match="all failed"):
        gather(tmp_path, count=4, small=Model(lambda prompt, parameters: "!no model there"))

    assert gather(tmp_path, count=4, small=Model(thinking=False))["questions_failed"] == 0
    # The setting for thinking is kept for the model's chat template.
    assert read_lines(tmp_path / "out" / PAIRS)[0]["chat_template_kwargs"] == {"enable_thinking": False}


@for_each(
    "changes, message",
    ({"pipeline": "prefrag_classifier"}, "calls no model"),
    ({"labels": "model"}, "need a stronger model"),
)
def test_a_pipeline_or_labels_without_their_model_are_refused(tmp_path: Path, changes: dict[str, Any], message: str):
    shutil.rmtree(tmp_path / "data", ignore_errors=True)
    with pytest.raises(ValueError, match=message):
        gather(tmp_path, replace(PLAN, **changes))


def test_a_finished_collection_calls_no_model_and_keeps_settings(tmp_path: Path, collected: Collection):
    small, folder = Model(), collected.copy(tmp_path)
    gather(folder, replace(PLAN, most_true=1, most_false=1), small=small)
    assert small.calls == []
    assert len(read_lines(folder / "out" / PAIRS)) == 2
    with pytest.raises(ValueError, match="top_k was"):
        gather(folder, replace(PLAN, top_k=(3, 5)))


def test_a_collection_tells_datasets_of_one_name_apart(tmp_path: Path, collected: Collection):
    small, folder = Model(), collected.copy(tmp_path)

    with pytest.raises(ValueError, match="datasets was"):
        gather(folder, count=9, small=small)

    assert small.calls == []


class TestStrongerModel:
    PLAN = replace(PLAN, labels="model")

    def test_gets_the_same_prompt_and_its_verdict_is_gold(self, tmp_path: Path):
        small, gold = Model(), Model(lambda prompt, parameters: reply(False, "Nothing is new."), "big")

        report = gather(tmp_path, self.PLAN, 4, small=small, gold=gold)

        judged = [call for call in gold.calls if "Standard analysis" not in call["messages"][0].text]
        assert {call["messages"][0].text for call in judged} == {call["messages"][0].text for call in small.calls}
        assert all("response_format" not in call for call in gold.calls)
        assert set(report["gold_verdicts"]) == {"False"}
        assert report["models"] == {"small": "small", "gold": "big"}

    def test_chooses_the_analysis_closest_to_its_own(self, tmp_path: Path):
        forms = itertools.cycle(['{"id": 3}', '{"id": "3"}', 'It is this one: {"id": 3}'])

        def big(prompt: str, parameters: dict[str, Any]) -> str:
            return next(forms) if "Standard analysis" in prompt else reply(True, "Something is new.")

        gather(tmp_path, self.PLAN, 5, gold=Model(big))

        judged = steps(tmp_path)
        assert len(judged) > 3
        assert {step["chosen_by"] for step in judged} == {"model"}
        # The third candidate that says True is the fifth of all.
        assert {step["chosen"] for step in judged} == {4}

    def test_where_its_choice_cannot_be_read_shared_words_choose(self, tmp_path: Path):
        def big(prompt: str, parameters: dict[str, Any]) -> str:
            return '{"id": 99}' if "Standard analysis" in prompt else reply(True, "I prefer reply 4.")

        report = gather(tmp_path, replace(self.PLAN, most_true=5), 4, gold=Model(big))

        judged = steps(tmp_path)
        assert {(step["chosen"], step["chosen_by"]) for step in judged} == {(4, "nearness")}
        assert report["agreement"]["of_gold_with_passages"] is not None

    def test_a_step_without_a_stronger_verdict_is_dropped(self, tmp_path: Path):
        report = gather(tmp_path, self.PLAN, 4, gold=Model(lambda prompt, parameters: "I cannot say."))

        assert report["dropped"] == {"no gold verdict": report["judged_steps"]}


def test_the_command_collects_and_reports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    class Embedded(Model):
        server, is_named_for_judging = None, False

        def __init__(self, role: str):
            super().__init__()

    monkeypatch.setattr("prefrag.training.judge_dpo.collection.ChatModel", Embedded)
    dataset = write_dataset(tmp_path / "data")
    command = ["train", "judge-dpo", "data", "--labels", "gold", "--llm", "simulated", "--top-k", "2-3"]
    places = ["--dataset", f"{dataset.questions}:{dataset.corpus}", "--output", str(tmp_path / "out")]

    ended = CliRunner().invoke(app, [*command, *places, "--set", "held_out=0"])

    assert ended.exit_code == 0, ended.output
    assert "judged steps" in ended.output
    assert str(tmp_path / "out" / PAIRS) in ended.output
    assert json.loads((tmp_path / "out" / REPORT).read_text())["questions"] == 8


@for_each(
    "options, message",
    (["--labels", "nobody"], "set it to model or gold"),
    (["--labels", "model"], "give --gold-llm and --gold-model"),
    (["--labels", "gold", "--set", "trajectory=mine"], "set it to gold or own"),
    (["--experiment", "published"], "give --gold-llm and --gold-model"),
    (["--labels", "gold", "--top-k", "many"], "such as 2-5"),
    (["--labels", "gold", "--top-k", "5-2"], "such as 2-5"),
    (["--labels", "gold", "--set", "top_k=5-2"], "such as 2-5"),
    (["--labels", "gold", "--set", "most_tru=5"], "no setting 'most_tru': the nearest is most_true"),
)
def test_the_command_refuses_what_it_cannot_use(tmp_path: Path, options: list[str], message: str):
    dataset = write_dataset(tmp_path / "data", 1)
    places = ["--dataset", f"{dataset.questions}:{dataset.corpus}", "--output", str(tmp_path / "out")]

    ended = CliRunner().invoke(app, ["train", "judge-dpo", "data", *places, *options])

    assert ended.exit_code == 2
    assert message in " ".join(ended.output.split())


def test_the_stronger_model_is_called_with_its_own_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    running = FakeModelServer()
    running.answers = [(200, completion(reply(True, "Something is new.")))]
    monkeypatch.setenv("PREFRAG_GOLD_API_KEY", "sk-gold")
    dataset = write_dataset(tmp_path / "data", 1)

    report = collect(
        [dataset],
        tmp_path / "out",
        replace(PLAN, labels="model"),
        small=Model(),
        gold=make_gold_model(running.url, "big"),
    )
    running.close()

    assert report["models"]["gold"] == "big"
    assert {request["authorization"] for request in running.requests} == {"Bearer sk-gold"}
    assert {request["model"] for request in running.requests} == {"big"}
    assert {request["temperature"] for request in running.requests} == {0.1}
