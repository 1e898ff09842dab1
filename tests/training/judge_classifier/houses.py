"""Questions about the doors of houses."""

ARTICLES, PASSAGES = 6, 10


def records(articles: int = ARTICLES, passages: int = PASSAGES) -> list[dict[str, str]]:
    return [
        {
            "question": f"What colour has the door {door} of the house {house}?",
            "title": f"House {house}",
            "text": f"The door {door} of the house {house} is painted in colour {10 * house + door}.",
        }
        for house in range(articles)
        for door in range(passages)
    ]
