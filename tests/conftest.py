"""How the tests run: how many random examples they try, and which processes load the surroundings of the tests."""

import os
import signal

import pytest
from hypothesis import HealthCheck, settings

# No deadline: a busy machine is no fault of the code. The quick tests try few random examples, `make test-slow` all.
settings.register_profile("full", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("quick", settings.get_profile("full"), max_examples=8)
settings.load_profile("quick")

# In background jobs of a script Ctrl-C is ignored, and the processes that tests interrupt would inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

os.environ["HAYSTACK_DESERIALIZATION_ALLOWLIST"] = "prefrag,duckduckgo_api_haystack,tests"
os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "False"


def pytest_configure(config: pytest.Config) -> None:
    # A process that only hands out tests does not need this, and loading it takes over a second.
    if hasattr(config, "workerinput") or not config.getoption("numprocesses", None):
        config.pluginmanager.import_plugin("tests.surroundings")
