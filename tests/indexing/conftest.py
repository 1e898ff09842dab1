"""What the tests of indexing share with those of collections."""

from tests.collections.conftest import make

__all__ = ["make"]
