"""Measure word search in languages other than English: ``python -m benchmarks.languages FOLDER``.

``python -m prefrag.evaluation.own_files.make_documents FOLDER --languages`` makes the folder. A question in
``languages.jsonl`` counts as found if its gold sentence is in one of the first five passages.
"""

from __future__ import annotations

import json
import re
import sys
import tempfile
from pathlib import Path

from haystack.document_stores.types import DocumentStore

from prefrag import ROOT
from prefrag.collections.indexing import index
from prefrag.components.document_stores.tantivy.document_store import TantivyDocumentStore

LANGUAGES = {"de": "german", "fr": "french", "es": "spanish", "it": "italian", "ru": "russian", "ja": "english"}
TOP_K = 5


def _plain(text: str) -> str:
    return re.sub(r"[\s\u00ad-]", "", text)


def make(folder: Path, path: str, language: str) -> TantivyDocumentStore:
    store = TantivyDocumentStore(path=path, language=language)
    passages: DocumentStore = store
    index([folder], passages)
    return store


def main(folder: str) -> None:
    """For each language, count found questions: alone (analysed as English or as itself), and with all languages."""
    lines = (ROOT / "evaluation" / "own_files" / "languages.jsonl").read_text(encoding="utf-8").splitlines()
    questions = [json.loads(line) for line in lines]

    def recall(store: TantivyDocumentStore, kind: str) -> int:
        number = 0
        for question in questions:
            if question["type"] == kind:
                wanted = _plain(question["sentences"][0])
                documents = store.search(question["question"], TOP_K)
                number += any(wanted in _plain(document.content or "") for document in documents)
        return number

    print(f"language: of {len(questions) // len(LANGUAGES)} found as English, as itself, as English among all")
    with tempfile.TemporaryDirectory() as indexes:
        together = make(Path(folder), f"{indexes}/all", "english")
        for kind, language in LANGUAGES.items():
            stores = [
                make(Path(folder) / kind, f"{indexes}/{kind}-{analyser}", analyser)
                for analyser in ("english", language)
            ]
            print(kind, *(recall(store, kind) for store in (*stores, together)), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
