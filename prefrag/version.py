"""The version of the installed package."""

from importlib.metadata import PackageNotFoundError, version


def find_version() -> str:
    """Find the version.

    :returns: The version; ``checkout`` where the package is run without being installed.
    """
    try:
        return version("prefrag")
    except PackageNotFoundError:
        return "checkout"
