"""The same questions, with the answer at home, only on the web, on both, and nowhere."""

from pathlib import Path

from haystack import Document

from prefrag.evaluation.datasets.jsonl import SPLIT, write_jsonl
from prefrag.evaluation.pipeline_under_test.experiment import Experiment
from prefrag.evaluation.question import Question
from prefrag.evaluation.settings_file import make_settings
from prefrag.evaluation.studies.four_worlds import (
    WORLDS,
    ask_world,
    count_question,
    lay_out,
    list_worlds,
    make_world,
    summarise,
)
from tests.for_each import for_each

PASSAGES = [
    Document(id="ship", content="The Tern was built in 1911.", meta={"title": "Tern", SPLIT: "local"}),
    Document(id="yard", content="The Roke was built in 1934.", meta={"title": "Roke", SPLIT: "web"}),
    Document(id="gull", content="The gull is a bird of the coast.", meta={"title": "Gull", SPLIT: "both"}),
    Document(id="harbour", content="The harbour of Hollin froze.", meta={"title": "Hollin", SPLIT: "web"}),
]
QUESTIONS = [
    Question("q1", "In which year was the Tern built?", ("1911",), supporting_ids=("ship",)),
    Question("q2", "In which year was the Roke built?", ("1934",), supporting_ids=("yard",)),
]


@for_each(
    "name, local, web", ("home", True, False), ("web", False, True), ("both", True, True), ("nowhere", False, False)
)
def test_gold_passages_are_where_the_world_has_them(name: str, local: bool, web: bool):
    world = make_world(name, QUESTIONS, PASSAGES)
    ids = {source: {passage.id for passage in passages} for source, passages in world.passages.items()}

    assert {"ship", "yard"} <= ids["local"] or not local
    assert not {"ship", "yard"} & ids["local"] or local
    assert {"ship", "yard"} <= ids["web"] or not web
    assert not {"ship", "yard"} & ids["web"] or web
    # All other passages stay where they are.
    assert (ids["local"] - {"ship", "yard"}, ids["web"] - {"ship", "yard"}) == ({"gull"}, {"gull", "harbour"})


def test_in_both_the_copy_on_the_web_states_another_answer():
    world = make_world("both", QUESTIONS, PASSAGES)
    texts = {
        source: {passage.id: passage.content for passage in documents} for source, documents in world.passages.items()
    }

    assert world.wrong == {"q1": "1934", "q2": "1911"}
    assert texts["local"]["ship"] == "The Tern was built in 1911."
    assert texts["web"]["ship"] == "The Tern was built in 1934."


def test_nowhere_no_question_has_an_answer():
    stray = Document(id="log", content="Her log names the Tern of 1911.", meta={"title": "Log", SPLIT: "local"})
    world = make_world("nowhere", QUESTIONS, [*PASSAGES, stray])

    # Another passage may state the answer to the first question.
    assert [(question.id, question.answers, question.answerable) for question in world.questions] == [("q2", (), False)]


def prediction(**result: object) -> dict[str, object]:
    """What a run did with the first question."""
    return {"id": "q1", "answers": ["1911"], "result": {"answered": False, "answer": "", "trace": [], **result}}


def search(source: str) -> dict[str, str]:
    """A search for four words."""
    return {"kind": "found", "source": source, "query": "year of the Tern"}


def test_a_search_of_the_web_is_counted_with_its_words():
    world = make_world("home", QUESTIONS, PASSAGES)
    counted = count_question(world, prediction(trace=[search("local"), search("web")]))

    assert (counted["home first"], counted["web asked"], counted["words sent"]) == (1.0, 1.0, 4.0)
    assert (counted["given"], counted["right"]) == (0.0, 0.0)
    assert "right of given" not in counted


def test_an_answer_of_the_web_against_own_documents_counts():
    world = make_world("both", QUESTIONS, PASSAGES)
    citations = [{"source": "web"}]
    counted = count_question(world, prediction(answered=True, answer="In 1934", citations=citations))

    assert (counted["right of given"], counted["own cited"], counted["wrong of the web"]) == (0.0, 0.0, 1.0)


def test_an_answer_where_there_is_none_is_not_right():
    world = make_world("nowhere", QUESTIONS, PASSAGES)
    counted = count_question(world, {**prediction(answered=True, answer="1911"), "answers": []})

    assert (counted["given"], counted["right of given"]) == (1.0, 0.0)
    assert "right" not in counted


@for_each(
    "pipeline, queries",
    ("prefrag", {"In which year was the Roke built?"}),
    ("vanilla_local", set()),
)
def test_the_web_gets_the_question_alone(tmp_path: Path, pipeline: str, queries: set[str]):
    texts = {
        "Roke Family": "The Roke family of Anna Thorne lives at Marsh Lane. Ben Ollard is captain.",
        "Anna Thorne": "Anna Thorne wrote of Ben Ollard and of Cyril Madde.",
        "Ben Ollard": "Ben Ollard sails with Cyril Madde.",
    }
    # Their names make a second query.
    lead_on = [Document(content=text, meta={"title": title, SPLIT: "local"}) for title, text in texts.items()]
    write_jsonl([*PASSAGES, *lead_on], tmp_path / "corpus.jsonl")
    write_jsonl(QUESTIONS[1:], tmp_path / "dev.jsonl")
    [_, web, *_] = list_worlds(tmp_path, "dev", None)
    experiment = make_settings(Experiment, {"prompts": "product", "llm": "reader"})

    [prediction] = ask_world(web, pipeline, experiment, tmp_path / "runs")

    trace = prediction["result"]["trace"]
    assert {event["query"] for event in trace if event["kind"] == "found" and event["source"] == "web"} == queries
    # The trees of the judge decide only where a source gets other queries, too.
    assert "classifier" not in {event["judged_by"] for event in trace if event["kind"] == "verdict"}


def test_a_dataset_is_asked_in_all_worlds(tmp_path: Path):
    write_jsonl(PASSAGES, tmp_path / "corpus.jsonl")
    write_jsonl(QUESTIONS, tmp_path / "dev.jsonl")
    worlds = list(list_worlds(tmp_path, "dev", None))
    experiment = make_settings(Experiment, {"prompts": "product", "llm": "reader"})
    figures = {
        world.name: summarise(world, ask_world(world, "prefrag", experiment, tmp_path / "runs")) for world in worlds
    }

    assert tuple(figures) == WORLDS
    assert figures["home"]["home first"].mean == 100.0
    assert figures["web"]["web asked"].mean == 100.0
    assert lay_out({"prefrag": figures}).splitlines()[2].startswith("| `prefrag` | 100% (34 to 100; n 2)")
