"""The version of the installed package."""

from functools import cache


@cache
def find_version() -> str:
    """Find the version; ``checkout`` where the package is run without being installed."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("prefrag")
    except PackageNotFoundError:
        return "checkout"
