"""Which parts of a pipeline an evaluation can replace."""

from typing import Any

import pytest

from prefrag.evaluation.pipeline_under_test.experiment import Experiment
from tests.for_each import for_each


class TestSettings:
    @for_each(
        "settings, message",
        ({"web": "bing"}, "web is 'bing': set it to ddgs"),
        ({"web": "ddgs", "web_corpus": "w.jsonl", "corpus": "c.jsonl"}, "choose one"),
        ({"split": True, "web_corpus": "w.jsonl", "corpus": "c.jsonl"}, "part of the corpus already replaces the web"),
        ({"split": True}, "split and web_corpus work only with a corpus"),
        ({"web_corpus": "w.jsonl"}, "split and web_corpus work only with a corpus"),
        ({"store": "elasticsearch"}, "if there is a corpus, to elasticsearch"),
        ({"record": "a", "replay": "b"}, "record and replay are both set"),
        ({"replay": "b", "llm": "simulated"}, "A replay calls no model"),
        ({"llm": "gpt"}, "llm is 'gpt': set it to simulated, reader, a GGUF file or the URL"),
        ({"llm": "ftp://x"}, "llm is 'ftp://x'"),
        ({"llm": "reader", "model": "m"}, "A model is named, but llm is reader"),
        ({"judge_error": 0.1}, "Error rates and policies apply only"),
        ({"source_choice": "first"}, "Error rates and policies apply only to the simulated reader"),
        ({"llm": "simulated", "yes_no": "two"}, "yes_no is 'two': set it to one or half or all"),
        ({"web_junk": 0.2}, "web_sentences and web_junk need a corpus"),
        ({"web_sentences": 2, "corpus": "c.jsonl", "web": "ddgs"}, "web_sentences and web_junk need a corpus"),
        ({"web_junk": 2, "corpus": "c.jsonl"}, "web_junk is 2: set it between 0 and 1"),
        ({"web_sentences": -1, "corpus": "c.jsonl"}, "web_sentences is -1"),
        ({"top_k": 0}, "top_k is 0"),
    )
    def test_that_contradict_each_other_are_refused_in_words(self, settings: dict[str, Any], message: str):
        with pytest.raises(ValueError, match=message):
            Experiment(**settings)

    def test_a_gguf_file_that_is_absent_is_refused(self):
        with pytest.raises(FileNotFoundError, match=r"There is no GGUF file small\.gguf"):
            Experiment(llm="small.gguf")

    @for_each("value", "off", "ask")
    def test_the_real_web_is_refused_where_it_is_closed(self, value: str, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setenv("PREFRAG_WEB", value)

        with pytest.raises(ValueError, match="The web is closed by PREFRAG_WEB"):
            Experiment(web="ddgs")
