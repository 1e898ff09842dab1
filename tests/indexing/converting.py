"""A process of its own that converts files, for this process."""

from __future__ import annotations

import os

from prefrag.indexing.converter_process import converter_process

HERE = converter_process(os.getpid())
