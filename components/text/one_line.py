"""Fit any text on one line."""


def one_line(text: str) -> str:
    """Write any text on one line, without the control characters that a terminal would obey."""
    return " ".join("".join(character if character.isprintable() else " " for character in text).split())
