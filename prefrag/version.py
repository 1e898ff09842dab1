"""The version of the installed package."""

from functools import cache


@cache
def find_version() -> str:
    """Find the version of the installed package.

    :returns: The version, such as "1.2.0"; "checkout" if the code runs without being installed.
    """
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("prefrag")
    except PackageNotFoundError:
        return "checkout"
