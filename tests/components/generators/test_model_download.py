"""Fetching a model from a hub, which breaks off, refuses, and states what is not so."""

import hashlib
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from huggingface_hub import constants
from huggingface_hub.utils import close_session

from prefrag.components.generators import model_download
from prefrag.components.generators.model_download import DownloadFailed, ask_source, download
from prefrag.components.generators.model_files import ModelFile, find_model_file, models_directory
from prefrag.components.generators.model_source import read_source
from prefrag.errors import Missing
from tests.components.generators.hub import COMMIT, CONTENT, FILE, REPOSITORY, Hub, running_hub

HALF = len(CONTENT) // 2
MODEL = f"hf:{REPOSITORY}/{FILE}"


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    with running_hub() as running:
        monkeypatch.setenv("HF_ENDPOINT", running.url)
        monkeypatch.setattr(model_download, "_WAITS", (0.0, 0.0, 0.0))
        yield running


def fetch(text: str = MODEL) -> ModelFile:
    source = read_source(text)
    return download(source, ask_source(source))


def parts() -> list[Path]:
    return list(models_directory().rglob("*.part"))


class TestFetching:
    def test_what_the_hub_states_is_compared_and_recorded(self, hub: Hub):
        model = fetch()

        assert model.path.read_bytes() == CONTENT
        assert (model.name, model.source, model.bytes) == ("tiny-q4", MODEL, len(CONTENT))
        assert (model.sha256, model.is_hash_stated) == (hub.sha256, True)
        assert (model.commit, model.licence) == (COMMIT, "mit")
        assert find_model_file("tiny-q4") == model
        assert parts() == []

    def test_a_download_that_is_cut_goes_on_from_there(self, hub: Hub):
        hub.cuts = [HALF]

        assert fetch().path.read_bytes() == CONTENT
        assert [asked[2] for asked in hub.asked if asked[:2] == ("GET", f"/blob/{FILE}")] == [None, f"bytes={HALF}-"]

    def test_the_same_command_goes_on_where_the_last_broke_off(self, hub: Hub):
        hub.cuts, hub.after_cuts = [HALF], 503
        with pytest.raises(DownloadFailed, match="status 503.*0 MB have arrived and stay: the same command"):
            fetch()
        assert [part.stat().st_size for part in parts()] == [HALF]
        assert find_model_file("tiny-q4") is None

        hub.after_cuts = 0
        hub.asked.clear()

        assert fetch().sha256 == hub.sha256
        assert [asked[2] for asked in hub.asked if asked[:2] == ("GET", f"/blob/{FILE}")] == [f"bytes={HALF}-"]

    def test_what_arrived_of_another_version_is_not_continued(self, hub: Hub):
        hub.cuts, hub.after_cuts = [HALF], 503
        with pytest.raises(DownloadFailed):
            fetch()
        hub.content = b"GGUF" + CONTENT
        hub.sha256, hub.after_cuts = hashlib.sha256(hub.content).hexdigest(), 0

        assert fetch().path.read_bytes() == hub.content

    def test_a_wrong_hash_deletes_what_arrived(self, hub: Hub):
        hub.sha256 = "c" * 64

        with pytest.raises(DownloadFailed, match=f"SHA-256 is [0-9a-f]{{64}}, not {'c' * 64}.*deleted"):
            fetch()
        assert parts() == []
        assert find_model_file("tiny-q4") is None

    def test_without_a_stated_hash_that_of_the_file_is_recorded(self, hub: Hub):
        hub.states_hash = False

        model = fetch()

        assert (model.sha256, model.is_hash_stated) == (hub.sha256, False)

    def test_a_file_that_is_no_model_is_deleted(self, hub: Hub):
        hub.content = b"<html>Sign in to the network</html>"
        hub.sha256 = hashlib.sha256(hub.content).hexdigest()

        with pytest.raises(DownloadFailed, match="not a GGUF file"):
            fetch()
        assert parts() == []

    def test_a_full_disk_is_seen_before_the_file_is_asked_for(self, hub: Hub, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setattr(shutil, "disk_usage", lambda folder: SimpleNamespace(free=400_000_000))

        with pytest.raises(DownloadFailed, match="400 MB free.*Nothing was downloaded"):
            fetch()
        assert all(method == "HEAD" or path.startswith("/api/") for method, path, _ in hub.asked)

    def test_an_address_is_fetched_without_the_token_of_the_hub(self, hub: Hub, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setenv("HF_TOKEN", "hf_secret")

        model = fetch(f"{hub.storage}/blob/other.gguf?key=secret")

        assert model.path.read_bytes() == CONTENT
        assert "secret" not in model.model_dump_json()
        assert {token for _, token in hub.tokens} == {None}

    def test_token_goes_to_the_hub_and_not_to_where_files_lie(self, hub: Hub, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setenv("HF_TOKEN", "hf_secret")

        fetch()

        tokens = dict(hub.tokens)
        assert tokens[f"/{REPOSITORY}/resolve/main/{FILE}"] == "Bearer hf_secret"
        assert tokens[f"/blob/{FILE}"] is None

    def test_a_proxy_is_obeyed(self, hub: Hub, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setenv("HF_ENDPOINT", "http://hub.example")
        monkeypatch.setenv("PREFRAG_LOCAL_HOSTS", "*.example")
        monkeypatch.setenv("HTTP_PROXY", hub.url)
        hub.storage = "http://storage.example"
        close_session()
        try:
            assert fetch().sha256 == hub.sha256
        finally:
            close_session()


class TestAddresses:
    """An address that redirects to a storage on another host."""

    @pytest.fixture(autouse=True)
    def silent_storage(self, hub: Hub) -> None:
        """The storage answers a GET alone, as one with signed addresses may."""
        hub.refusals["HEAD /blob/x.gguf"] = (403, {})

    def get_moved(self, hub: Hub) -> ModelFile:
        return fetch(f"{hub.url}/moved/x.gguf")

    def ranges(self, hub: Hub) -> list[str | None]:
        return [asked[2] for asked in hub.asked if asked[:2] == ("GET", "/blob/x.gguf")]

    @pytest.mark.parametrize("etag", ["", '"v1"'])
    def test_what_arrived_whole_but_was_not_recorded_blocks_nothing(
        self, hub: Hub, monkeypatch: pytest.MonkeyPatch, etag: str
    ):
        hub.etag = etag
        with monkeypatch.context() as broken:
            broken.setattr(model_download, "_hash", lambda part: 1 / 0)
            with pytest.raises(ZeroDivisionError):
                self.get_moved(hub)

        assert self.get_moved(hub).path.read_bytes() == CONTENT

    @pytest.mark.parametrize(("before", "after"), [("", ""), ('"v1"', '"v2"'), ('W/"v1"', 'W/"v1"'), ('"v1"', "")])
    @pytest.mark.parametrize("states_head", [True, False])
    def test_a_file_that_changed_after_a_break_is_not_mixed(self, hub: Hub, before: str, after: str, states_head: bool):
        if states_head:
            hub.refusals.clear()
        hub.etag, hub.cuts, hub.after_cuts = before, [HALF], 503
        with pytest.raises(DownloadFailed):
            self.get_moved(hub)
        hub.etag, hub.after_cuts, hub.content = after, 0, b"GGUF" + b"new" * len(CONTENT)

        assert self.get_moved(hub).path.read_bytes() == hub.content

    def test_a_stated_version_goes_on_where_the_last_broke_off(self, hub: Hub):
        hub.refusals.clear()
        hub.etag, hub.cuts, hub.after_cuts = '"v1"', [HALF], 503
        with pytest.raises(DownloadFailed, match="stay: the same command goes on"):
            self.get_moved(hub)
        hub.after_cuts = 0
        hub.asked.clear()

        assert self.get_moved(hub).path.read_bytes() == CONTENT
        assert self.ranges(hub) == [f"bytes={HALF}-"]

    def test_without_a_version_a_break_is_said_to_begin_anew(self, hub: Hub):
        hub.cuts = [HALF] * 3

        with pytest.raises(DownloadFailed, match="no version of the file, so the same command fetches it anew"):
            self.get_moved(hub)
        assert self.ranges(hub) == [None, None, None]

    def test_a_size_that_only_the_file_itself_states_is_checked(self, hub: Hub, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setattr(shutil, "disk_usage", lambda folder: SimpleNamespace(free=500_000_000 + HALF))

        with pytest.raises(DownloadFailed, match="make room"):
            self.get_moved(hub)
        assert [part.stat().st_size for part in parts()] == [0]

    def test_redirect_to_where_others_can_change_the_file_is_refused(self, hub: Hub, monkeypatch: pytest.MonkeyPatch):
        # What would go out arrives at the hub, as a proxy.
        monkeypatch.setenv("HTTP_PROXY", hub.url)
        monkeypatch.setenv("NO_PROXY", "127.0.0.1,localhost")
        hub.refusals["GET /blob/x.gguf"] = (302, {"Location": "http://evil.example/blob/evil.gguf"})
        close_session()
        try:
            with pytest.raises(DownloadFailed, match="evil.example is not asked over https"):
                self.get_moved(hub)
        finally:
            close_session()
        assert not any("evil" in path for _, path, _ in hub.asked)

    def test_a_server_that_is_no_hub_learns_nothing_of_the_hub(self, hub: Hub):
        self.get_moved(hub)

        assert not any("hf" in str(agent) or "hub" in str(agent) for agent in hub.agents)


class TestRefusals:
    def test_the_token_is_not_sent_where_others_can_read_it(self, hub: Hub, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setenv("HF_TOKEN", "hf_secret")
        monkeypatch.setenv("HF_ENDPOINT", "http://hub.example")
        monkeypatch.setenv("HTTP_PROXY", hub.url)
        close_session()
        try:
            with pytest.raises(DownloadFailed, match="hub.example is not asked over https"):
                fetch()
        finally:
            close_session()
        assert hub.tokens == []

    def test_a_file_of_another_size_than_stated_is_refused(self, hub: Hub):
        hub.stated_bytes = HALF

        with pytest.raises(DownloadFailed, match="the file has changed"):
            fetch()
        assert [part.stat().st_size for part in parts()] == [0]

    @pytest.mark.parametrize("status", [429, 503])
    def test_no_server_decides_how_long_is_waited(self, hub: Hub, monkeypatch: pytest.MonkeyPatch, status: int):
        waits: list[float] = []
        monkeypatch.setattr(time, "sleep", waits.append)
        hub.refusals["GET"] = (status, {"Retry-After": "86400"})

        with pytest.raises(DownloadFailed, match="repeat the command"):
            fetch()
        assert sum(waits) == 0

    def test_server_that_always_breaks_off_is_left_after_a_few_tries(self, hub: Hub):
        hub.cuts = [10] * 50

        with pytest.raises(DownloadFailed, match="broke off.*stay"):
            fetch()
        assert len(hub.cuts) == 47

    def test_a_closed_or_absent_repository_is_said(self, hub: Hub):
        hub.refusals["HEAD"] = (401, {"X-Error-Code": "GatedRepo"})

        with pytest.raises(DownloadFailed, match="not open to everybody, or does not exist.*HF_TOKEN"):
            fetch()

    def test_an_absent_file_is_answered_with_those_there_are(self, hub: Hub):
        with pytest.raises(Missing, match=f"There is no .*/other.gguf: the repository has {FILE}, tiny-q8.gguf"):
            fetch(f"hf:{REPOSITORY}/other.gguf")

    @pytest.mark.parametrize("method", ["HEAD", "GET"])
    def test_too_many_requests_say_how_long_to_wait(self, hub: Hub, method: str):
        hub.refusals[method] = (429, {"Retry-After": "90"})

        with pytest.raises(DownloadFailed, match="too many requests from here: repeat the command in 90 seconds"):
            fetch()

    def test_offline_is_said_in_one_sentence(self, hub: Hub, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)

        with pytest.raises(DownloadFailed, match="^HF_HUB_OFFLINE forbids downloads: [^.]*\\.$"):
            fetch()
        assert hub.asked == []

    def test_an_unreachable_hub_is_named(self, hub: Hub, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:1")

        with pytest.raises(DownloadFailed, match=r"127\.0\.0\.1 cannot be reached.*prefrag model use PATH"):
            fetch()

    def test_an_address_that_is_not_encrypted_is_refused(self, hub: Hub):
        hub.storage = "http://storage.example"
        with pytest.raises(DownloadFailed, match="https"):
            fetch()
