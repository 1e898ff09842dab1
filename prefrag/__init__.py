"""Multi-source adaptive RAG: a preferred source first, another one when a judge says so.

The folders lie at the top of the checkout. The links here give them one import name, `prefrag`, in a checkout, in an
editable installation and in a wheel alike, and to tools that read files without running them (mypy, editors).
"""

import os
import sys

# Questions are private: the telemetry of Haystack and of ONNX Runtime is off unless somebody switches it on.
if "HAYSTACK_TELEMETRY_ENABLED" not in os.environ:
    os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "False"
    # Haystack reads this when it is imported, which a program may have done before.
    if (_imported := sys.modules.get("haystack.telemetry._telemetry")) is not None:
        vars(_imported)["telemetry"] = None
if "ORT_DISABLE_TELEMETRY" not in os.environ:
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"
    if (_imported := sys.modules.get("onnxruntime")) is not None and hasattr(_imported, "disable_telemetry_events"):
        _imported.disable_telemetry_events()
