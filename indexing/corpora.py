"""Index a corpus."""

from __future__ import annotations

from prefrag.components.text.passage_record import PassageError, passage_lines, read_passage_line
from prefrag.indexing.corpus_files import open_corpus
from prefrag.indexing.corpus_lines import CorpusLines
from prefrag.indexing.discovery import FoundFile
from prefrag.indexing.passage_ids import PassageIds
from prefrag.indexing.stores import PassageStore
from prefrag.indexing.tally import Tally

_SOURCES = ("local", "web", "both")


def index_corpus(file: FoundFile, local: PassageStore, web: PassageStore | None, tally: Tally) -> None:
    """Write the new and changed lines of a corpus, and report those that are no passages."""
    report = tally.report
    written, unchanged = report.written, report.unchanged
    skipped, skipped_lines = len(report.skipped), report.skipped_lines
    lines = CorpusLines(file, local, web, tally)
    ids = PassageIds()
    position = saved = 0
    try:
        with open_corpus(file.path) as stream:
            for number, end, line in passage_lines(stream):
                position = end
                try:
                    record = read_passage_line(line, number)
                    if web is not None and record.source not in _SOURCES:
                        raise PassageError(
                            f"to split the sources, 'source' must be local, web or both, not {record.source!r}"
                        )
                    if not ids.add(record.id):
                        raise PassageError(
                            f"the id '{record.id}' is that of an earlier line: every passage needs its own"
                        )
                except PassageError as error:
                    tally.skip_line(file.path, number, error.reason)
                    continue
                lines.add(number, record, len(line))
                if lines.are_enough:
                    lines.write()
                    tally.advance(file.path, position - saved)
                    saved = position
    except PassageError as error:
        tally.skip(file.path, error.reason)
    except OSError as error:
        tally.skip(file.path, f"it cannot be read after byte {position} ({error.strerror})")
    lines.write()
    tally.advance(file.path, file.size - saved)

    if report.written > written or report.unchanged > unchanged:
        report.files += 1
        report.unchanged_files += report.written == written
    elif report.skipped_lines > skipped_lines:
        # Not a corpus at all: report the file once instead of each of its lines.
        first = report.skipped[skipped]
        del report.skipped[skipped:]
        report.skipped_lines = skipped_lines
        tally.skip(file.path, f"no line of it was taken; line {first.line}: {first.reason}")
    elif len(report.skipped) == skipped:
        tally.skip(file.path, "it is empty")
