"""What narrows a run, in words; by itself, so that the help of the command line needs no Pydantic."""

OPTION_TEXTS = {
    "preferred": "The source that is searched first.",
    "top_k": "Documents a retrieval.",
    "max_steps": "Steps, at most those of the pipeline.",
    "folders": "A folder of the collection, such as contracts or Letters/2024, with all below it; any of several.",
    "kinds": "A kind of file, such as pdf, docx, mail or .xlsx; any of several.",
    "since": "Only documents that state a date from this year, month or day on: 2024, 2024-06, 2024-06-15.",
    "until": "Only documents that state a date up to this year, month or day, itself included.",
    "filters": "Haystack metadata filter on the documents of the sources that can filter.",
}
