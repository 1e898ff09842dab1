"""Multi-source adaptive RAG: a preferred source first, another one when a judge says so.

The code is in folders such as `components`. In a wheel, these folders are inside this package. In a checkout, they are
beside this package, at the top of the checkout. In both cases they are imported under the name `prefrag`, as in
`prefrag.components`. This module arranges that. It also sets environment variables that other libraries read when they
are imported.
"""

import os
import sys
from pathlib import Path

#: The folder with `components`, `demo`, `yaml_pipelines` and the other folders.
ROOT = Path(__file__).resolve().parent
if not (ROOT / "components").is_dir():
    ROOT = ROOT.parent
    __path__.append(str(ROOT))

# Questions are private. So the telemetry of Haystack and of ONNX Runtime is off, unless somebody sets their variables.
if "HAYSTACK_TELEMETRY_ENABLED" not in os.environ:
    os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "False"
    # Haystack reads this variable when it is imported. If a program has imported Haystack before, the variable has no
    # effect, so the telemetry object is removed.
    _imported = sys.modules.get("haystack.telemetry._telemetry")
    if _imported is not None:
        vars(_imported)["telemetry"] = None
if "ORT_DISABLE_TELEMETRY" not in os.environ:
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"
    _imported = sys.modules.get("onnxruntime")
    if _imported is not None and hasattr(_imported, "disable_telemetry_events"):
        _imported.disable_telemetry_events()

# If OpenTelemetry is set up for any purpose, Haystack sends traces, unless this variable is "false". The client of
# Elasticsearch does the same, with a variable of its own.
_traces = os.environ.get("HAYSTACK_AUTO_TRACE_ENABLED", "").strip().lower() in ("true", "on", "yes", "1")
os.environ["HAYSTACK_AUTO_TRACE_ENABLED"] = str(_traces).lower()
os.environ.setdefault("OTEL_PYTHON_INSTRUMENTATION_ELASTICSEARCH_ENABLED", "false")

# OpenBLAS computes with several threads, which keep running while they wait for each other. For a question over a
# million passages, that doubles the processor time. With one thread, several questions at once use the cores better.
# OpenBLAS reads this variable when numpy is imported.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# Haystack 3 builds components only from the modules that this variable lists. With the two names added, a program that
# imports this package can load its pipelines with plain Haystack, too.
_listed = [name for name in os.environ.get("HAYSTACK_DESERIALIZATION_ALLOWLIST", "").split(",") if name]
for _name in ("prefrag", "duckduckgo_api_haystack"):
    if _name not in _listed:
        _listed.append(_name)
os.environ["HAYSTACK_DESERIALIZATION_ALLOWLIST"] = ",".join(_listed)
