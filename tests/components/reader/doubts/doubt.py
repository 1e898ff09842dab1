"""The doubt about an answer in a text."""

from prefrag.components.reader.doubts.doubtful_statement import find_doubt


def doubt(question: str, text: str, answer: str, title: str = "", heading: str = "") -> str:
    begin = text.index(answer)
    return find_doubt(question, title, text, begin, begin + len(answer), heading)
