"""A third source needs only a change of the YAML (appendix E of PrefRAG)."""

from prefrag import pipelines
from tests.fakes import CALLS
from tests.pipelines.scripted import LOCAL, WEB, answer, scripted, search, verdict

QUESTION = "alpha, epsilon or delta?"
DOCUMENTS = {"local": LOCAL, "archive": {"epsilon": "Epsilon is in the archive."}, "web": WEB}


def three(*replies: str, **settings: object):
    return scripted(*replies, pipeline="prefrag_three_sources", documents=DOCUMENTS, **settings)  # type: ignore[arg-type]


async def test_a_switch_goes_to_the_source_that_the_model_named():
    script = [search("alpha", tool="Search_1"), search("epsilon alpha", tool="Search_2"), answer()]

    result = await pipelines.ask_async(three(*script, verdicts=(verdict(False),)), QUESTION)

    assert result["steps"][1]["searched"] == ["local", "archive"]
    assert result["steps"][1]["source"] == "archive"
    assert CALLS.get("web") is None


async def test_a_supplement_asks_all_three():
    result = await pipelines.ask_async(three(answer("x", "INCORRECT"), answer()), QUESTION)

    assert result["steps"][0]["source"] == "local+archive+web"
    assert result["counts"]["sources"]["archive"] == {"total": 1, "used": 1}


async def test_a_source_that_the_request_forbids_is_skipped():
    script = [
        search("alpha", tool="Search_2"),
        search("alpha delta", tool="Search_2"),
        answer("x", "INCORRECT"),
        answer(),
    ]

    result = await pipelines.ask_async(three(*script, verdicts=(verdict(False),)), QUESTION, sources=["local", "web"])

    assert CALLS.get("archive") is None
    assert result["steps"][1]["source"] == "web"
