"""A small folder whose sentences state what questions ask for."""

from haystack import Document

TEXTS = {
    "Pellhaven Hall": "The Pellhaven Hall was opened by Henrike Vold. The roof weighs 340 tons.",
    "Merrow Bridge": "The Merrow Bridge was built in 1931 next to the harbour. Its arches are of brick.",
    "Ropewalk Fire": "The Ropewalk Fire destroyed 17 looms of the Lindgate Mill.",
    "Gull Lighthouse": "The keeper of the Gull Lighthouse was Tobias Greaves.",
    "Glider school": "The Glider School is located in Morrowness.",
    "Old ferry": "The ferry Kestrel was sold in 1974 to Vaskland.",
}


def passages(**texts: str) -> list[Document]:
    """Make a passage of each text, a file of its own; by default of those above."""
    return [
        Document(
            id=title,
            content=text,
            meta={
                "title": title,
                "file_path": f"/folder/{title}.txt",
                "folder": "/folder",
                "kind": "text",
                "split_id": 0,
                "file_size": len(text),
            },
        )
        for title, text in (texts or TEXTS).items()
    ]
