"""Where the benchmarks look for the datasets: in `data` of the checkout, or in the folder of PREFRAG_TEST_DATA."""

import os
from pathlib import Path

DATA = Path(os.environ.get("PREFRAG_TEST_DATA") or Path(__file__).resolve().parent.parent / "data")
MULTIHOP = DATA / "multihop"
