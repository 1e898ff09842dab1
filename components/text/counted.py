"""Write numbers with their nouns, for messages and reports."""


def counted(number: int, noun: str) -> str:
    """Write a number and a noun, which gets a plural ending if needed.

    For example, ``counted(1, "passage")`` returns ``"1 passage"``, and ``counted(1200, "search")`` returns
    ``"1,200 searches"``. Irregular plurals are not known.

    :param number: The number.
    :param noun: The noun in the singular.
    :returns: The number and the noun. Commas separate the thousands.
    """
    if number == 1:
        return f"1 {noun}"
    ending = "es" if noun.endswith(("ch", "sh", "s", "x")) else "s"
    return f"{number:,} {noun}{ending}"
