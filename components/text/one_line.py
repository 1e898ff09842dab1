"""Fit any text on one line."""


def one_line(text: str) -> str:
    """Write any text on one line. Control characters, which a terminal would obey, become spaces."""
    without_controls = "".join(character if character.isprintable() else " " for character in text)
    return " ".join(without_controls.split())
