"""The type of Haystack's metadata filters.

This module imports nothing slow, because the options of the command line use it too.
"""

from typing import Any

Filters = dict[str, Any]
"""A comparison with the keys `field`, `operator` and `value`, or an `operator` with a list of `conditions`.

All of Haystack declares its filters with this type. A pipeline compares the types of the inputs that it connects, so
the same type is used here.
"""
