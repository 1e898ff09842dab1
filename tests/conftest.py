"""How the tests run: how many random examples, and where the surroundings of every test are loaded."""

import os
import signal

import pytest
from hypothesis import HealthCheck, settings

# A busy machine is no defect of the code. Few random examples in the quick tests; `make test-slow` tries all of them.
settings.register_profile("full", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("quick", settings.get_profile("full"), max_examples=8)
settings.load_profile("quick")

# Scripts start their background processes deaf to Ctrl-C, and the processes that tests interrupt would inherit it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

os.environ["HAYSTACK_DESERIALIZATION_ALLOWLIST"] = "prefrag,duckduckgo_api_haystack,tests"
os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "False"


def pytest_configure(config: pytest.Config) -> None:
    # A process that only hands tests to its workers takes over a second for what it never uses.
    if hasattr(config, "workerinput") or not config.getoption("numprocesses", None):
        config.pluginmanager.import_plugin("tests.surroundings")
