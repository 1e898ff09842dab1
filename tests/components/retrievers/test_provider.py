"""What a failed call of a provider is said to be."""

from prefrag.components.retrievers.provider import describe_failure
from tests.for_each import for_each

SECRET = "http://elastic:SECRET@search.internal/"


@for_each(
    "message, said",
    ("gone", "x: gone"),
    ("", "x: ConnectionError"),
    (f"{'It failed. ' * 17}{SECRET}", f"x: {'It failed. ' * 16}..."),
    (f"No {'ö' * 300}", f"x: No {'ö' * 193} ..."),
    (f"{SECRET}{'o' * 300}", f"x: http://search.internal/{'o' * 173} ..."),
)
def test_a_message_is_cut_between_words_without_a_password(message: str, said: str):
    assert describe_failure("x", ConnectionError(message), 1.0) == said
