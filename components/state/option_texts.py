"""What narrows a run, in words; by itself, so that the help of the command line needs no Pydantic."""

OPTION_TEXTS = {
    "preferred": "The source that is searched first.",
    "top_k": "Documents a retrieval.",
    "max_steps": "Steps, at most those of the pipeline.",
    "filters": "Haystack metadata filter on the documents of the sources that can filter.",
}
