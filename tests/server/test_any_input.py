"""No input makes the service fail, or keeps it from its other clients."""

import json
import time
from collections.abc import Callable, Iterator
from functools import cache
from itertools import product
from typing import Any

import httpx
import pytest
import schemathesis
from hypothesis import given
from hypothesis import strategies as st
from schemathesis import GenerationMode
from starlette.testclient import TestClient

from tests.fakes import CALLS
from tests.for_each import for_each
from tests.server.serving import SHARED

Served = Callable[..., TestClient]
RUN, CHAT = "/prefrag/run", "/v1/chat/completions"
YEAR = {"field": "meta.year", "operator": "==", "value": 2020}


def run_body(**options: Any) -> str:
    return json.dumps({"question": "Who built alpha?", **options})


def chat_body(**fields: Any) -> str:
    return json.dumps({"model": "prefrag", "messages": [{"role": "user", "content": "Who built alpha?"}], **fields})


def post(client: httpx.Client, path: str, body: Any) -> Any:
    return client.post(path, content=body, headers={"Content-Type": "application/json"})


def nested_filter(depth: int) -> dict[str, Any]:
    inner: dict[str, Any] = YEAR
    for _ in range(depth):
        inner = {"operator": "AND", "conditions": [inner]}
    return inner


@pytest.fixture
def client(served: Served, address: str) -> Iterator[httpx.Client]:
    """A client with one connection to the shared application."""
    served()
    with httpx.Client(base_url=address, timeout=60) as client:
        yield client


@cache
def _operations() -> list[Any]:
    schema = schemathesis.openapi.from_dict(SHARED.start().app.openapi())
    return [result.ok() for result in schema.get_all_operations()]


@pytest.mark.hypothesis
@pytest.mark.parametrize(
    "label",
    [
        "POST /prefrag/run",
        "POST /v1/chat/completions",
        # This is the same route with another name.
        pytest.param("POST /chat/completions", marks=pytest.mark.slow),
        "GET",
    ],
)
def test_whatever_the_schema_allows_or_forbids_is_no_failure(served: Served, address: str, label: str):
    operations = [operation for operation in _operations() if operation.label.startswith(label)]
    assert operations
    cases = [operation.as_strategy(mode) for operation in operations for mode in GenerationMode]

    @given(case=st.one_of(cases))
    def answers(case: Any) -> None:
        response = case.call(base_url=address)

        # A request may set a deadline that is too short for any run.
        assert response.status_code < 500 or response.status_code == 504, response.text

    answers()


DEEP = "[" * 100_000 + "]" * 100_000
WRONG_TYPES = ["null", "true", "3", "2.5", '"text"', "[]", "{}", "[[]]", '[{"a": 1}]', "-1", "1e308", '""']
# Python's parser accepts these, although they are not JSON or nothing can use them.
NOT_JSON_VALUES = ["NaN", "Infinity", "-Infinity", "1e999", "9" * 400, "9" * 5_000, '"\\ud800"', '"a\\udfffb"']


class TestABodyThatIsNotJson:
    def test_is_refused_with_the_reason(self, client: httpx.Client):
        bodies: list[tuple[Any, str]] = [
            ("", "equired"),
            ("{", "not JSON"),
            ("\x00", "not JSON"),
            (b"\xff\xfe\x00", "not JSON"),
            (b'{"question": "\xff"}', "not JSON"),
            (DEEP, "64 deep"),
            ('{"a":' * 5_000 + "1" + "}" * 5_000, "64 deep"),
            ("[" * 70 + "]" * 70, "64 deep"),
            (f'{{"question": [{"1," * 30_000}1]}}', "20000 values"),
            (run_body(**{f"key{number}": 1 for number in range(30_000)}), "20000 values"),
        ]
        answers = [(path, body, reason, post(client, path, body)) for path in (RUN, CHAT) for body, reason in bodies]

        assert [
            (path, body[:40], answer.text[:200])
            for path, body, reason, answer in answers
            if answer.status_code != 422 or reason not in answer.text or len(answer.content) >= 2_000
        ] == []


class TestAValueThatJsonDoesNotHave:
    @for_each(
        "path, body",
        (RUN, '{"question": "Who?", "top_k": @}'),
        (RUN, '{"question": "Who?", "max_steps": @}'),
        (RUN, '{"question": @}'),
        (RUN, '{"question": "Who?", "unknown": @}'),
        (RUN, '{"question": "Who?", "sources": [@]}'),
        (RUN, '{"question": "Who?", "history": [{"role": "user", "content": @}]}'),
        (RUN, '{"question": "Who?", "filters": {"field": "meta.year", "operator": "==", "value": @}}'),
        (CHAT, '{"model": @, "messages": [{"role": "user", "content": "Who?"}]}'),
        (CHAT, '{"model": "prefrag", "messages": [{"role": "user", "content": @}]}'),
        (CHAT, '{"model": "prefrag", "messages": [{"role": @, "content": "Who?"}]}'),
        (CHAT, '{"model": "prefrag", "messages": [{"role": "user", "content": "Who?"}], "top_k": @}'),
        (CHAT, '{"model": "prefrag", "messages": [{"role": "user", "content": "Who?"}], "prefrag": {"top_k": @}}'),
        (CHAT, '{"model": "prefrag", "messages": [{"role": "user", "content": "Who?"}], "temperature": @}'),
        (
            CHAT,
            '{"model": "prefrag", "messages": [{"role": "user", "content": "Who?"}], "stream": true, "x": {"y": @}}',
        ),
    )
    def test_is_refused_everywhere(self, client: httpx.Client, path: str, body: str):
        for value in NOT_JSON_VALUES:
            response = post(client, path, body.replace("@", value))
            assert (response.status_code, bool(response.json()["detail"])) == (422, True), value[:20]
            assert path == RUN or response.json()["error"]["type"] == "invalid_request_error"
        assert "web" not in CALLS

    def test_half_a_character_is_named_and_both_halves_are_one(self, client: httpx.Client):
        for text in ('"\\ud83d"', '"\\ude00\\ud83d"', '{"\\ud800": 1}'):
            response = post(client, RUN, f'{{"question": "Who?", "unknown": {text}}}')
            assert "half of a surrogate pair" in response.json()["detail"], text

        response = post(client, RUN, '{"question": "Who built \\ud83d\\ude00?"}')
        assert response.json()["result"]["question"] == "Who built \U0001f600?"


class TestAValueOfTheWrongType:
    @for_each(
        "path, body, fields",
        (RUN, run_body(), "question history sources preferred top_k max_steps filters documents"),
        (CHAT, chat_body(stream=True), "model messages stream prefrag filters stream_options metadata"),
    )
    def test_is_no_failure(self, client: httpx.Client, path: str, body: str, fields: str):
        for field, value in product(fields.split(), WRONG_TYPES):
            response = post(client, path, json.dumps({**json.loads(body), field: json.loads(value)}))
            allowed = {200, 422} if path == RUN else {200, 404, 422}
            assert response.status_code in allowed, (field, value)
        assert {post(client, path, value).status_code for value in WRONG_TYPES} == {422}
        for kind in ("text/plain", "application/xml", "multipart/form-data", "application/json5", ""):
            response = client.post(path, content=b"\xff\x00<a/>", headers={"Content-Type": kind})
            assert response.status_code in (400, 422), kind

    def test_is_not_taken_for_a_number(self, client: httpx.Client):
        for option, value in product(("top_k", "max_steps"), (True, False, "3", 2.5, 3.0)):
            assert post(client, RUN, run_body(**{option: value})).status_code == 422, (option, value)
            assert post(client, CHAT, chat_body(**{option: value})).status_code == 422, (option, value)

    def test_is_named_without_a_copy_of_what_was_sent(self, served: Served):
        """The last of two equal keys counts."""

        client = served()
        response = post(client, RUN, run_body(sources=[["secret" * 5]] * 5_000, **{"x" * 5_000: 1}))
        assert response.status_code == 422
        assert "secret" not in response.text
        assert len(response.content) < 5_000
        response = post(client, RUN, '{"question": "Who?", "question": "Who built alpha?", "top_k": 3, "top_k": 0}')
        assert (response.status_code, "top_k is 0" in response.json()["detail"]) == (422, True)
        thousand = {**YEAR, "operator": "in", "value": list(range(999))}
        assert post(client, RUN, run_body(filters=thousand)).status_code == 200


class TestAnOddPathOrMethod:
    def test_is_no_failure(self, client: httpx.Client):
        paths = (
            *("/", "//", "/%00", "/%ff%fe/run", "/prefrag/run/", "/..%2f/run", "/status/%F0%9F", "/status/unheard-of"),
            *("/prefrag/run?question=x", "/prefrag/%0d%0arun", "/v1/%ed%a0%80", "/docs?x=%ff", "/" + "a" * 10_000),
        )
        methods = ("GET", "POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS", "TRACE", "ODD")
        assert [
            (method, path[:40], status)
            for method, path in product(methods, paths)
            if (status := client.request(method, path).status_code) >= 500
        ] == []


class TestFilters:
    @for_each(
        "filters, reason",
        (nested_filter(20), "nested more than 16 deep"),
        (nested_filter(400), "64 deep"),
        ({**YEAR, "operator": "in", "value": list(range(1_001))}, "more than 1000 values"),
        ({"operator": "OR", "conditions": [YEAR] * 1_001}, "more than 1000 values"),
        ({**YEAR, "value": "x" * 1_001}, "1001 characters"),
        ({**YEAR, "value": {str(number): 1 for number in range(1_100)}}, "more than 1000 values"),
        ({**YEAR, "value": 2**63}, "at most 64 bits"),
    )
    def test_that_are_too_large_are_refused_before_a_search(self, served: Served, filters: Any, reason: str):
        client = served()
        for response in (
            post(client, RUN, run_body(filters=filters)),
            post(client, CHAT, chat_body(filters=filters)),
            post(client, CHAT, chat_body(filters=filters, stream=True)),
        ):
            assert response.status_code == 422
            assert reason in response.text
        assert "local" not in CALLS


class TestAQuestion:
    @for_each("text", "\u8c01" * 4_000, "\u0449" * 2_500)
    def test_that_no_window_holds_is_refused_with_the_reason(self, served: Served, text: str):
        response = served().post(RUN, json={"question": text})

        assert response.status_code == 422
        assert "shorten it to 4500 bytes" in response.json()["detail"]

    @for_each("text", "x" * 4_000, "\u8c01" * 1_500, "\0", "\u202e\ufeff\U000e0041", "\uffff" * 1_000)
    def test_of_any_text_is_answered_in_the_smallest_shipped_window(self, served: Served, text: str):
        response = served("Final Answer: 1974", model_settings={"context_window": 4_096}).post(
            RUN, json={"question": text}
        )

        assert response.status_code == 200


class TestHistory:
    def test_of_thousands_of_turns_is_cut_to_the_newest(self, served: Served):
        turns = [{"role": "user", "content": f"Turn {number} on alpha."} for number in range(15_000)]
        question = "And who?"
        client = served('{"question": "Who built alpha?"}', "Final Answer: Beta")

        for path, body in (
            (RUN, {"question": question, "history": turns}),
            (CHAT, {"model": "prefrag", "messages": [*turns, {"role": "user", "content": question}]}),
        ):
            CALLS.clear()
            assert client.post(path, json=body).status_code == 200
            assert "Turn 14999 " in CALLS["model"][0]["prompt"]
            assert "Turn 14000 " not in CALLS["model"][0]["prompt"]


@pytest.mark.parametrize(
    "body",
    [
        run_body(filters={**YEAR, "operator": "in", "value": list(range(120_000))}),
        run_body(history=[{"role": "user", "content": "x" * 160}] * 4_900),
        run_body(history=[{"role": "user", "content": "x"}] * 20_000),
        run_body(history=[{"role": 1}] * 19_000),
        run_body(unknown=[{}] * 240_000),
        run_body(unknown=" " * 990_000),
        run_body(**{f"k{number}": 1 for number in range(19_000)}),
        chat_body(messages=[1] * 19_000),
        chat_body(unknown=["x" * 45] * 19_000),
    ],
    ids=lambda body: f"{len(body) // 1000} KB {body[50:90]}",
)
def test_one_large_request_does_not_keep_the_others_waiting(served: Served, body: str):
    client = served()
    path = CHAT if body.startswith('{"model') else RUN
    before = time.process_time()

    response = post(client, path, body)

    # Processor time is what other clients wait for, and other tests do not add to it.
    assert time.process_time() - before < 0.5
    assert response.status_code in (200, 422)
