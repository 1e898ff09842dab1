"""Numbers with their nouns."""


def counted(number: int, noun: str) -> str:
    """Write a number and a noun, such as ``1 passage`` or ``1,200 searches``. ``noun`` is the singular."""
    if number == 1:
        return f"1 {noun}"
    ending = "es" if noun.endswith(("ch", "sh", "s", "x")) else "s"
    return f"{number:,} {noun}{ending}"
