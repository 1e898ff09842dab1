"""PrefRAG with tickets as its preferred source: python ask_tickets.py DATABASE QUESTION."""

from __future__ import annotations

import sys

from sqlite_retriever import SQLiteRetriever

from prefrag import pipelines

if __name__ == "__main__":
    database, question = sys.argv[1:]
    pipeline = pipelines.load("prefrag", replace={"local.retriever": SQLiteRetriever(database)})
    result = pipelines.ask(question, pipeline)
    print(result["answer"])
    for document in result["documents"]:
        print(f"[{document['mark']}] {document['title']} ({document['source']})")
