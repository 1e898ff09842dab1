"""Serves yaml_pipelines/mspr.yaml: the model names the source, a preference steers it, a review sends it back."""

from prefrag.service.server.wrapper import ServedPipeline


class PipelineWrapper(ServedPipeline):
    """See :class:`ServedPipeline`."""

    name = "mspr"
