"""Make a database of tickets: python make_tickets.py TICKETS.jsonl DATABASE."""

from __future__ import annotations

import json
import sqlite3
import sys
from contextlib import closing
from pathlib import Path


def make_tickets(corpus: str, database: str) -> int:
    """Write tickets into a table with a full-text index, replacing any that it held.

    :param corpus: JSONL, with the ``id``, ``title`` and ``text`` of one ticket per line.
    :param database: The file of the database.
    :returns: The number of tickets.
    """
    lines = Path(corpus).read_text(encoding="utf-8").splitlines()
    tickets = [json.loads(line) for line in lines if line.strip()]
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute("DROP TABLE IF EXISTS tickets")
        connection.execute(
            "CREATE VIRTUAL TABLE tickets USING fts5(id UNINDEXED, title, text, tokenize = 'porter unicode61')"
        )
        connection.executemany("INSERT INTO tickets VALUES (:id, :title, :text)", tickets)
    return len(tickets)


if __name__ == "__main__":
    print(make_tickets(*sys.argv[1:3]), "tickets written")
