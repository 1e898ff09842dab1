"""The separate port for metrics, on a real server."""

import os
import socket
from pathlib import Path

import httpx
import pytest

from prefrag.file_lock import take_lock
from tests.python_process import start_python
from tests.server_process import CHECKOUT, server_process

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.name == "nt", reason="on Windows, only one process serves"),
    pytest.mark.skipif(not (CHECKOUT / "demo" / "local.jsonl").is_file(), reason="this checkout has no demo corpus"),
]
SERVE = ("-m", "prefrag.cli.main", "serve", "--demo")


def test_port_answers_on_this_machine_alone_without_a_key(tmp_path: Path):
    """It removes what a killed server left."""

    left, living = (tmp_path / f"prefrag-metrics-{name}" for name in ("left", "living"))
    for folder in (left, living):
        folder.mkdir()
        os.utime(folder, (0, 0))
    file = os.open(living, os.O_RDONLY)
    take_lock(file)
    with socket.create_server(("127.0.0.1", 0)) as free, socket.create_server(("127.0.0.1", 0)) as free_too:
        port, other = (endpoint.getsockname()[1] for endpoint in (free, free_too))
    settings = {"PREFRAG_METRICS_PORT": str(port), "PREFRAG_API_KEYS": "secret", "TMPDIR": str(tmp_path)}

    with server_process(*SERVE, folder=tmp_path, **settings) as client:
        asked = client.post("/prefrag/run", json={"question": "Who?"}, headers={"authorization": "Bearer secret"})
        assert (asked.status_code, client.get("/metrics").status_code) == (200, 401)
        text = httpx.get(f"http://127.0.0.1:{port}/metrics").text
        assert 'prefrag_runs_total{pipeline="prefrag",status="' in text
        assert text.split("prefrag_runs_total{", 1)[1].splitlines()[0].endswith(" 1.0")
        assert (left.exists(), living.exists(), len(list(tmp_path.glob("prefrag-metrics-*")))) == (False, True, 2)
        with pytest.raises(OSError, match="refused"):
            socket.create_connection(("127.0.0.2", port))
        with start_python(*SERVE, "--port", other, **settings, PREFRAG_DATA_DIR=str(tmp_path / "other")) as second:
            assert f"nothing can listen on port {port} of 127.0.0.1" in second.communicate(timeout=60)[1]
    os.close(file)

    assert [folder.name for folder in tmp_path.glob("prefrag-metrics-*")] == [living.name]
