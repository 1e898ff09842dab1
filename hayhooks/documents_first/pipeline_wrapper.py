"""Serve yaml_pipelines/prefrag.yaml under plain Hayhooks: your own documents first, the web when the judge says so."""

from prefrag.server.chat.wrapper import ServedPipeline


class PipelineWrapper(ServedPipeline):
    """Serve one pipeline, which clients call by the name of this folder."""

    # The name of a pipeline, or the path of a YAML file.
    name = "prefrag"
