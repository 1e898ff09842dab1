"""Multi-source adaptive RAG: a preferred source first, another one when a judge says so.

The folders of the code lie at the top of a checkout, and in this folder in a wheel. Either way they have one import
name, `prefrag`: in a checkout this package also looks beside itself.
"""

import os
import sys
from pathlib import Path

#: The folder that holds `components`, `demo`, `yaml_pipelines` and the others.
ROOT = Path(__file__).resolve().parent
if not (ROOT / "components").is_dir():
    ROOT = ROOT.parent
    __path__.append(str(ROOT))

# Questions are private: the telemetry of Haystack and of ONNX Runtime is off unless somebody switches it on.
if "HAYSTACK_TELEMETRY_ENABLED" not in os.environ:
    os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "False"
    # Haystack reads this when it is imported, which a program may have done before.
    _imported = sys.modules.get("haystack.telemetry._telemetry")
    if _imported is not None:
        vars(_imported)["telemetry"] = None
if "ORT_DISABLE_TELEMETRY" not in os.environ:
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"
    _imported = sys.modules.get("onnxruntime")
    if _imported is not None and hasattr(_imported, "disable_telemetry_events"):
        _imported.disable_telemetry_events()
# Haystack traces wherever OpenTelemetry is set up, for whatever purpose, unless this variable is "false". So does the
# client of Elasticsearch, by a variable of its own.
_traces = os.environ.get("HAYSTACK_AUTO_TRACE_ENABLED", "").strip().lower() in ("true", "on", "yes", "1")
os.environ["HAYSTACK_AUTO_TRACE_ENABLED"] = str(_traces).lower()
os.environ.setdefault("OTEL_PYTHON_INSTRUMENTATION_ELASTICSEARCH_ENABLED", "false")
# The threads of OpenBLAS wait for each other by running, which doubles the processor time of a question over a million
# passages: several questions at once use the cores better. It reads this when numpy is imported.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# Haystack 3 builds components only from the modules listed here. So a program that imports this package can load its
# pipelines with plain Haystack too.
_listed = [name for name in os.environ.get("HAYSTACK_DESERIALIZATION_ALLOWLIST", "").split(",") if name]
_listed = [*_listed, *(name for name in ("prefrag", "duckduckgo_api_haystack") if name not in _listed)]
os.environ["HAYSTACK_DESERIALIZATION_ALLOWLIST"] = ",".join(_listed)
