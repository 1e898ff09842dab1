from datetime import UTC, datetime, timedelta, timezone

from prefrag.components.text.utc import write_utc
from tests.for_each import for_each

AUCKLAND = timezone(timedelta(hours=13))


@for_each(
    "time",
    datetime(2026, 11, 28, 16, 27, 59, tzinfo=UTC),
    datetime(2026, 11, 29, 5, 27, tzinfo=AUCKLAND),
    datetime.fromisoformat("2026-11-28T16:27:00+00:00"),
)
def test_a_time_of_any_zone_is_written_in_utc(time: datetime):
    assert write_utc(time) == "2026-11-28 16:27 UTC"
