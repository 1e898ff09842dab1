"""The settings in the file ``.env`` of the working folder."""

from __future__ import annotations


def load_env_file() -> None:
    """Read the settings of the nearest ``.env`` that the environment does not hold already."""
    from dotenv import find_dotenv, load_dotenv

    load_dotenv(find_dotenv(usecwd=True))
