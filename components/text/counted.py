"""Numbers with their nouns."""


def counted(number: int, noun: str) -> str:
    """Write a number with its noun, given in the singular: ``1 passage`` or ``1,200 searches``."""
    ending = "" if number == 1 else "es" if noun.endswith(("ch", "sh", "s", "x")) else "s"
    return f"{number:,} {noun}{ending}"
