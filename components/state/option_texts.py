"""The descriptions of a run's options, in a module of their own so that the command line's help needs no Pydantic."""

OPTION_TEXTS = {
    "preferred": "The source that is searched first.",
    "top_k": "Documents per retrieval.",
    "max_steps": "The most steps, no more than the pipeline allows.",
    "folders": "A folder of the collection, such as contracts or Letters/2024, and all below it; several may be given.",
    "kinds": "A kind of file, such as pdf, docx, mail or .xlsx; several may be given.",
    "since": "Only documents dated from this year, month or day on (2024, 2024-06-15), by their first lines or name.",
    "until": "Only documents dated up to and including this year, month or day, by their first lines or name.",
    "filters": "Haystack metadata filter on the documents of the sources that can filter.",
}
