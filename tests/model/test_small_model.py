"""What the product does with a real small model: `make test-model`, which takes hours, and continues if it was stopped.

The server is that of PREFRAG_TEST_MODEL_URL (and PREFRAG_TEST_MODEL_NAME), or the one beside the checkout, with its own
model or the GGUF file PREFRAG_TEST_MODEL_FILE. The runs lie in `runs/small_model`, where
`python -m benchmarks.small_model` makes them in pieces, too. With PREFRAG_TEST_MODEL_LIMIT (questions of a cell) or
PREFRAG_TEST_MODEL_MINUTES (for each set) only a part is measured, and no figure is asked for.
"""

import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator

import pytest

from benchmarks.places import MULTIHOP
from benchmarks.small_model import CHECKOUT, OUTPUT, RIVALS, list_shortfalls, name_cell, read_cells

URL = os.environ.get("PREFRAG_TEST_MODEL_URL", "")
FILE = os.environ.get("PREFRAG_TEST_MODEL_FILE", "")
LIMITS = [name for name in ("PREFRAG_TEST_MODEL_LIMIT", "PREFRAG_TEST_MODEL_MINUTES") if name in os.environ]
SERVE = CHECKOUT.parent / "shared" / "model" / "serve"
pytestmark = [
    pytest.mark.skipif(not os.environ.get("PREFRAG_TEST_MODEL"), reason="takes hours: only `make test-model` runs it"),
    pytest.mark.skipif(
        not URL and not SERVE.is_file(),
        reason="needs a small model: set PREFRAG_TEST_MODEL_URL, or lay ../shared/model beside the checkout",
    ),
]
PIPELINES = {
    "own": ("prefrag", "reader", "vanilla_local"),
    "demo": ("prefrag", *RIVALS),
    "hotpotqa": ("prefrag", "vanilla_mix"),
}
# The first start also fetches the model.
SECONDS = 900


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    if URL:
        yield URL
        return
    OUTPUT.mkdir(parents=True, exist_ok=True)
    # A recording goes by the address of the server, so a continued measurement needs the same port.
    kept = OUTPUT / "port"
    with socket.socket() as free:
        free.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        free.bind(("127.0.0.1", int(kept.read_text()) if kept.is_file() else 0))
        port = free.getsockname()[1]
    kept.write_text(str(port))
    file = ["--file", FILE] if FILE else []
    process = subprocess.Popen([SERVE, "--port", str(port), *file], stdout=subprocess.PIPE, text=True)
    late = threading.Timer(SECONDS, process.kill)
    late.start()
    try:
        assert process.stdout is not None
        lines = iter(process.stdout)
        assert any(line.startswith("ready on") for line in lines), "the model server did not start"
        late.cancel()
        # Nobody reads what it says from now on, and a full pipe would stop it.
        threading.Thread(target=lambda: list(lines), daemon=True).start()
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        late.cancel()
        process.terminate()
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()


@pytest.mark.parametrize("name", PIPELINES)
def test_a_small_model_does_what_is_asked_of_it(name: str, server: str):
    if name == "hotpotqa" and not (MULTIHOP / name).is_dir():
        pytest.skip(f"the benchmark data is not in {MULTIHOP}")
    command = [sys.executable, "-m", "benchmarks.small_model", name, "--url", server]
    chosen = [part for pipeline in PIPELINES[name] for part in ("--pipeline", pipeline)]

    subprocess.run([*command, *chosen], cwd=CHECKOUT, check=True)

    cells = read_cells(OUTPUT)
    if LIMITS:
        asked = len(cells.get(name_cell(name, "prefrag"), ()))
        assert asked, "not even one question was asked"
        pytest.skip(f"{' and '.join(LIMITS)} ended it after {asked} questions of prefrag, too few for the figures")
    short = list_shortfalls(name, {pipeline: cells[name_cell(name, pipeline)] for pipeline in PIPELINES[name]})
    assert short == [], "\n".join(short)
