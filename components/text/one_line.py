"""Fit any text on one line, for messages and log lines."""


def one_line(text: str) -> str:
    """Write any text on one line.

    Control characters, which a terminal would obey, become spaces. Several blanks become one space. For example,
    ``one_line("two  words" + chr(10) + "next line")`` returns ``"two words next line"``.

    :param text: Any text.
    :returns: The text on one line, without blanks at its ends.
    """
    characters = [character if character.isprintable() else " " for character in text]
    without_controls = "".join(characters)
    return " ".join(without_controls.split())
