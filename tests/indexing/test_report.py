from io import StringIO

from rich.console import Console

from prefrag.indexing.report import Progress, Skipped, indexing_bar


def test_file_name_in_report_or_progress_writes_no_terminal_code():
    assert str(Skipped("a\x1b[2J\nb.txt", "it is empty", 3)) == "a [2J b.txt, line 3: it is empty"

    terminal = Console(file=StringIO(), force_terminal=True, width=200)

    with indexing_bar(terminal) as on_progress:
        on_progress(Progress("/files/[red]a\x1b]0;title\x07\nb.txt", 1, 2, 3, 4))

    assert "[red]a ]0;title b.txt" in terminal.file.getvalue()
