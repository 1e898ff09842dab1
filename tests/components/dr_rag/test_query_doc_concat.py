from haystack import Document

from prefrag.components.dr_rag.query_doc_concat import QueryDocConcat
from tests.components.two_ways import both_give
from tests.for_each import for_each


def doc(key: str, content: str | None = "", **meta: object) -> Document:
    return Document(id=key, content=content, meta=meta)


HEIBERG = doc("h", "His son  Johan\nwas a poet.", title="Peter Andreas Heiberg", url="http://h.example")


def queries(concat: QueryDocConcat, *documents: Document) -> list[str]:
    return concat.run(query=" Who married the child? ", documents=list(documents))["queries"]


async def test_one_query_for_each_document_in_their_order_on_both_ways():
    documents = [HEIBERG, doc("j", "A poet.", title="Johan"), doc("n", None)]
    assert (await both_give(QueryDocConcat(), " Who married the child? ", documents))["queries"] == [
        "Who married the child? Peter Andreas Heiberg His son Johan was a poet.",
        "Who married the child? Johan A poet.",
        "Who married the child?",
    ]
    assert queries(QueryDocConcat()) == []


@for_each(
    "parts, expected",
    (["content"], "Who married the child? His son Johan was a poet."),
    (["title"], "Who married the child? Peter Andreas Heiberg"),
    (["url", "title"], "Who married the child? http://h.example Peter Andreas Heiberg"),
    (["nothing"], "Who married the child?"),
    ([], "Who married the child?"),
)
def test_the_parts_are_a_setting(parts, expected):
    assert queries(QueryDocConcat(parts), HEIBERG) == [expected]


def test_long_documents_are_cut_and_the_question_never_is():
    assert queries(QueryDocConcat(max_words=4), HEIBERG) == ["Who married the child? Peter Andreas Heiberg His"]
    assert len(queries(QueryDocConcat(max_words=None), doc("l", "word " * 9_000))[0].split()) == 9_004
