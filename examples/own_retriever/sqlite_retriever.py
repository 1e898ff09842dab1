"""A retriever of your own: full-text search over a table of tickets in SQLite."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from pathlib import Path

from haystack import Document, component

_WORD = re.compile(r"\w+")
# A word in the title weighs more than one in the text; bm25() gives lower numbers to better rows.
_SEARCH = """
    SELECT id, title, text, -bm25(tickets, 0, 1.25, 1) AS score
    FROM tickets WHERE tickets MATCH ? ORDER BY score DESC, id LIMIT ?
"""


@component
class SQLiteRetriever:
    """Finds the tickets that hold words of the query, best first by BM25."""

    def __init__(self, database: str, top_k: int = 10):
        """Set where to search; nothing is opened yet.

        :param database: The file that ``make_tickets.py`` has written.
        :param top_k: The most tickets to return.
        :raises ValueError: When the file is not named or top_k is under 1.
        """
        if not database:
            raise ValueError("database is empty: name the file of the tickets.")
        if top_k < 1:
            raise ValueError(f"top_k is {top_k}: set it to at least 1.")
        self.database = database
        self.top_k = top_k

    def warm_up(self) -> None:
        """Open the database, so that a missing one is reported before the first question.

        :raises FileNotFoundError: When there is none, or it has no tickets.
        """
        try:
            self.run("tickets")
        except sqlite3.Error as error:
            raise FileNotFoundError(
                f"No tickets can be read from {self.database} ({error}): make it with make_tickets.py."
            ) from error

    @component.output_types(documents=list[Document])
    def run(self, query: str, top_k: int | None = None) -> dict[str, list[Document]]:
        """Search.

        :param query: Any text.
        :param top_k: The most tickets to return, in place of the retriever's own number.
        :returns: ``documents`` with their score, best first; none for a query without a word.
        :raises ValueError: When top_k is under 1.
        """
        most = self.top_k if top_k is None else top_k
        if most < 1:
            raise ValueError(f"top_k is {most}: set it to at least 1.")
        # In quotes, or FTS5 would take AND, NEAR or a star in the query for operators.
        words = " OR ".join(f'"{word}"' for word in dict.fromkeys(_WORD.findall(query)))
        if not words:
            return {"documents": []}
        # One connection per call, because a source calls its retriever in threads, which cannot share a connection.
        with closing(sqlite3.connect(f"{Path(self.database).resolve().as_uri()}?mode=ro", uri=True)) as database:
            rows = database.execute(_SEARCH, (words, most)).fetchall()
        return {
            "documents": [
                Document(id=key, content=text, meta={"title": title}, score=score) for key, title, text, score in rows
            ]
        }
