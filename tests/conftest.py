"""Settings of all tests: how many random examples they try, and which processes load the surroundings."""

import os
import signal

import pytest
from hypothesis import HealthCheck, settings

# There is no deadline, because a busy machine is no fault of the code. The quick tests try few random examples.
settings.register_profile("full", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("quick", settings.get_profile("full"), max_examples=8)
settings.load_profile("quick")

# Background jobs of a script ignore Ctrl-C. The processes that tests interrupt would inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

os.environ["HAYSTACK_DESERIALIZATION_ALLOWLIST"] = "prefrag,duckduckgo_api_haystack,tests"
os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "False"


def pytest_configure(config: pytest.Config) -> None:
    # Loading the surroundings takes over a second, and a process that only hands out tests does not need them.
    if hasattr(config, "workerinput") or not config.getoption("numprocesses", None):
        config.pluginmanager.import_plugin("tests.surroundings")
