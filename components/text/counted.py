"""Numbers with their nouns."""


def counted(number: int, noun: str) -> str:
    """Write a number with its noun in the singular or the plural.

    :param number: The number.
    :param noun: The noun, in the singular.
    :returns: Such as ``1 passage`` or ``1,200 searches``.
    """
    ending = "" if number == 1 else "es" if noun.endswith(("ch", "sh", "s", "x")) else "s"
    return f"{number:,} {noun}{ending}"
