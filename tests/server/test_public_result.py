"""What a client may see of a result."""

from typing import Any

import pytest

from prefrag.components.generators.chat_model import ChatModel
from prefrag.server.access.keys import ANYONE, AT_TERMINAL, OWNER, Access, current_access
from prefrag.server.public_result import Installation


class Pipeline:
    """A pipeline whose settings contain an address."""

    def to_dict(self) -> dict[str, Any]:
        return {"components": {"store": {"hosts": ["https://u:p@archive.internal:9201/x"], "component": ChatModel}}}


class Unwritable:
    def to_dict(self) -> dict[str, Any]:
        raise TypeError("cannot be serialised")


@pytest.fixture
def installation() -> Installation:
    return Installation(Pipeline())


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("refused: http://[2001:db8::7]:9200/x", "refused: (withheld)"),
        ("host ::1:9200 is down at 12:30:45", "host (withheld) is down at 12:30:45"),
        ("std::move is 1::x", "std::move is 1::x"),
        ("/home/ada lovelace/secret/a.pdf is damaged", "a.pdf is damaged"),
        ("It is at https://archive.internal:9201/x, or not.", "It is at (withheld), or not."),
        ("host='archive.internal', port=9201", "host='(withheld)', port=9201"),
        ("archive.internal:9201 refused", "(withheld) refused"),
        ("Connect call failed ('127.0.0.1', 9200)", "Connect call failed ('(withheld)', 9200)"),
        ("There is no collection /srv/data/prefrag/default: make it.", "There is no collection default: make it."),
        (r"'C:\\\\Users\\\\Ada Quill\\\\lease.pdf' is gone", "'lease.pdf' is gone"),
        (r"See C:\Users\Ada\O'Brien\a.md, D:/notes/b.md and \\files\board\c.md", "See a.md, b.md and c.md"),
        (r"\d+ and a\b are no paths", r"\d+ and a\b are no paths"),
        ("no reply within 20 s, 3 of 4 and/or 1/2", "no reply within 20 s, 3 of 4 and/or 1/2"),
        ("There is no source ['attic'].", "There is no source ['attic']."),
    ],
)
def test_an_error_names_neither_addresses_nor_folders(installation: Installation, text: str, shown: str):
    assert installation.withhold(text) == shown


@pytest.mark.parametrize(
    ("access", "shown"),
    [
        (OWNER, "http://archive.internal:9201/v1 (model 'tiny', key (withheld)) in default"),
        (AT_TERMINAL, "http://archive.internal:9201/v1 (model 'tiny', key (withheld)) in default"),
        (Access("ada"), "(withheld) (model '(withheld)', key (withheld)) in default"),
        (ANYONE, "(withheld) (model '(withheld)', key (withheld)) in default"),
    ],
)
def test_only_the_owner_learns_which_server_failed(monkeypatch: pytest.MonkeyPatch, access: Access, shown: str):
    monkeypatch.setenv("PREFRAG_LLM_MODEL", "tiny")
    monkeypatch.setenv("PREFRAG_LLM_API_KEY", "sk-live-1")
    error = "http://u:p@archive.internal:9201/v1 (model 'tiny', key sk-live-1) in /srv/data/default"

    token = current_access.set(access)
    try:
        assert Installation(Pipeline()).withhold(error) == shown
    finally:
        current_access.reset(token)


def test_a_file_goes_by_its_name(installation: Installation):
    documents = [{"id": "1", "file": "/srv/files/board/minutes.pdf", "page": 3}, {"id": "2"}, {"file": 7}, {"file": ""}]

    published = installation.publish({"answer": "x", "documents": documents})

    listed = [{"id": "1", "file": "minutes.pdf", "page": 3}, {"id": "2"}, {"file": "7"}, {"file": ""}]
    assert published == {"answer": "x", "documents": listed}
    assert documents[0]["file"] == "/srv/files/board/minutes.pdf"


def test_the_trace_keeps_everything_but_the_words_of_failures(installation: Installation):
    trace = [{"kind": "found", "query": "archive.internal", "titles": [], "error": "archive.internal is down"}]

    assert installation.publish({"trace": trace})["trace"] == [{**trace[0], "error": "(withheld) is down"}]


def test_so_does_each_attempt_of_a_search(installation: Installation):
    attempts = [{"query": "archive.internal", "error": "archive.internal is down"}, {"query": "x", "error": None}]

    published = installation.publish({"trace": [{"kind": "found", "attempts": attempts}], "queries_sent_out": attempts})

    shown = [{"query": "archive.internal", "error": "(withheld) is down"}, {"query": "x", "error": None}]
    assert published == {"trace": [{"kind": "found", "attempts": shown}], "queries_sent_out": shown}


def test_a_pipeline_that_cannot_be_written_is_served_too(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PREFRAG_JUDGE_BASE_URL", "http://judge.internal/v1")

    assert Installation(Unwritable()).withhold("judge.internal is down") == "(withheld) is down"
