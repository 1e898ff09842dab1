"""Make OpenDocument files by hand."""

from __future__ import annotations

import io
import zipfile

HEAD = "".join(
    f' xmlns:{short}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"'
    for short, name in {**{"o": "office", "t": "text", "tb": "table", "d": "drawing", "p": "presentation"}}.items()
)


def make_file(kind: str, body: str, **parts: str) -> bytes:
    """Write a file.

    :param kind: The name of the element with the content, such as "text".
    :param body: The content of this element.
    :param parts: The other parts of the archive, by their names.
    """
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as package:
        content = f"<o:document-content{HEAD}><o:body><o:{kind}>{body}</o:{kind}></o:body></o:document-content>"
        for name, text in {"content.xml": content, **parts}.items():
            package.writestr(name, text)
    return archive.getvalue()
