"""Serve yaml_pipelines/prefrag.yaml under plain Hayhooks, without `prefrag serve`.

The pipeline searches your own documents first, and the web when the judge says so. Hayhooks loads this file and uses
the class `PipelineWrapper` in it.
"""

from prefrag.server.chat.wrapper import ServedPipeline


class PipelineWrapper(ServedPipeline):
    """Serve one pipeline, which clients call by the name of this folder."""

    # The name of a pipeline, or the path of a YAML file.
    name = "prefrag"
