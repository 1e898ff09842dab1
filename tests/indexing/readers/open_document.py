"""What begins the parts of an OpenDocument file."""

from __future__ import annotations

HEAD = "".join(
    f' xmlns:{short}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"'
    for short, name in {**{"o": "office", "t": "text", "tb": "table", "d": "drawing", "p": "presentation"}}.items()
)
