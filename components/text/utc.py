"""Times for people to read."""

from datetime import UTC, datetime


def write_utc(time: datetime) -> str:
    """Write a time to the minute in UTC, and say so: ``2026-05-03 16:27 UTC``."""
    return f"{time.astimezone(UTC):%Y-%m-%d %H:%M} UTC"
