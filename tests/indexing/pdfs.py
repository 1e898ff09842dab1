"""Small PDFs, written by hand so that tests know every byte of them."""

from __future__ import annotations


def make_pdf(pages: list[str], title: str | None = None) -> bytes:
    """
    Write a PDF.

    :param pages: the text of each page, its lines separated by newlines.
    :param title: the title in its metadata.
    :returns: the bytes of the file.
    """
    kids = " ".join(f"{4 + 2 * i} 0 R" for i in range(len(pages)))
    bodies = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for i, page in enumerate(pages):
        shown = "".join(f"({line}) Tj T* " for line in page.split("\n") if line)
        stream = f"BT /F1 12 Tf 14 TL 72 720 Td {shown}ET"
        bodies.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {5 + 2 * i} 0 R "
            "/Resources << /Font << /F1 3 0 R >> >> >>"
        )
        bodies.append(f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream")
    bodies.append(f"<< /Title ({title}) >>" if title else "<< >>")

    data = b"%PDF-1.4\n"
    offsets = []
    for number, body in enumerate(bodies, start=1):
        offsets.append(len(data))
        data += f"{number} 0 obj\n{body}\nendobj\n".encode("latin-1")
    table = "".join(f"{offset:010d} 00000 n \n" for offset in offsets)
    size = len(bodies) + 1
    data += (
        f"xref\n0 {size}\n0000000000 65535 f \n{table}trailer\n<< /Size {size} /Root 1 0 R /Info {size - 1} 0 R >>\n"
        f"startxref\n{len(data)}\n%%EOF\n"
    ).encode("latin-1")
    return data
