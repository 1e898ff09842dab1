"""Where a model is fetched from, as users type it."""

import pytest

from prefrag.components.generators.model_files import read_offers
from prefrag.components.generators.model_source import read_source
from prefrag.errors import BadInput


def test_offers_hub_files_pages_and_addresses_are_read():
    offer = read_offers()[0]

    assert str(read_source(offer.name)) == f"hf:{offer.repository}/{offer.file}"
    page = read_source("https://huggingface.co/maker/tiny-GGUF/blob/main/tiny-q4.gguf?download=true")
    assert (str(page), page.revision) == ("hf:maker/tiny-GGUF/tiny-q4.gguf", "main")
    assert str(read_source("https://user:word@example.org/a/b.gguf")) == "https://example.org/a/b.gguf"


@pytest.mark.parametrize(("quoted", "revision"), [("v2", "v2"), ("refs%2Fpr%2F1", "refs/pr/1")])
def test_a_revision_is_a_source_of_its_own(quoted: str, revision: str):
    page = read_source(f"https://huggingface.co/maker/tiny-GGUF/resolve/{quoted}/tiny-q4.gguf")

    assert (page.repository, page.file, page.revision) == ("maker/tiny-GGUF", "tiny-q4.gguf", revision)
    assert str(page) == f"hf:maker/tiny-GGUF@{quoted}/tiny-q4.gguf"
    assert read_source(str(page)) == page


@pytest.mark.parametrize(
    "text",
    [
        "",
        "qwen",
        "hf:maker",
        "hf:maker/tiny@../x.gguf",
        "hf:maker/tiny@a%2F..%2Fb/x.gguf",
        "hf:maker/tiny/../../x.gguf",
        "https://example.org/x.zip",
        "ftp://x/y.gguf",
        "https://[bad/x.gguf",
    ],
)
def test_what_is_none_of_these_is_refused(text: str):
    with pytest.raises(BadInput):
        read_source(text)


def test_a_part_of_a_split_model_is_refused():
    with pytest.raises(BadInput, match="split"):
        read_source("hf:maker/tiny-GGUF/tiny-00001-of-00002.gguf")


def test_an_address_that_is_not_encrypted_is_refused():
    with pytest.raises(BadInput, match="https"):
        read_source("http://example.org/model.gguf")
