"""What every test stands on: no settings of the machine, no network, and fakes without a memory."""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, settings

# A busy machine is no defect of the code.
settings.register_profile("prefrag", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("prefrag")

os.environ["HAYSTACK_DESERIALIZATION_ALLOWLIST"] = "components,evaluation,duckduckgo_api_haystack,tests"
os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "False"

from tests import fakes  # noqa: E402


@pytest.fixture(autouse=True)
def _own_surroundings(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    for name in list(os.environ):
        if name.startswith(("PREFRAG_", "HAYHOOKS_", "OPENAI_")) and not name.startswith("PREFRAG_TEST_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("PREFRAG_DATA_DIR", str(tmp_path_factory.mktemp("data")))
    fakes.CALLS.clear()
