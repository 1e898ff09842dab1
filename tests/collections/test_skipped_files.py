"""The index keeps a list of the files that could not be read."""

from prefrag.collections.indexing import index
from prefrag.collections.skipped_files import read_skipped
from prefrag.components.document_stores.tantivy.index_location import index_path
from tests.indexing.samples import Make


def test_what_was_skipped_is_kept_until_the_file_is_read_or_gone(make: Make) -> None:
    good, empty, broken = (
        make("a.txt"),
        make("sub/empty.txt", ""),
        make("sub/broken.json", "\ud800".encode("utf-16", "surrogatepass")),
    )
    folder = index_path("default")

    index([good.parent])
    assert read_skipped(folder) == {str(empty): "it is empty", str(broken): read_skipped(folder)[str(broken)]}

    empty.write_text("Now there are words.", encoding="utf-8")
    index([empty])
    assert list(read_skipped(folder)) == [str(broken)]
    broken.unlink()
    assert read_skipped(folder) == {}

    (folder / "prefrag-skipped.json").write_text('["no", "mapping"]', encoding="utf-8")
    assert read_skipped(folder) == {}
