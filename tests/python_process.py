"""Run Python in another process."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[1]


@contextmanager
def start_python(*arguments: object, **variables: str) -> Iterator[subprocess.Popen[str]]:
    """Start Python in the checkout, with a pipe for each of its three streams.

    :param arguments: The arguments of Python.
    :param variables: Further variables of its environment.
    :returns: A context with the process, which is killed at the end of the context if it still runs.
    """
    process = subprocess.Popen(
        [sys.executable, *map(str, arguments)],
        cwd=CHECKOUT,
        env={**os.environ, **variables},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with process:
        try:
            yield process
        finally:
            process.kill()


def run_python(
    code: str, *arguments: object, seconds: float = 120.0, **variables: str
) -> subprocess.CompletedProcess[str]:
    """Run a program in the checkout until it ends.

    :param code: The program.
    :param arguments: Its arguments, in ``sys.argv``.
    :param seconds: How long it may take.
    :param variables: Further variables of its environment.
    :returns: The exit code and the output.
    """
    with start_python("-c", code, *arguments, **variables) as process:
        output, errors = process.communicate(timeout=seconds)
    return subprocess.CompletedProcess(process.args, process.returncode, output, errors)
