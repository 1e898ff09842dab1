"""The descriptions of a run's options.

They are in a separate module, so that the help of the command line does not need to import Pydantic.
"""

# For each option, by its name, the description that users see.
OPTION_TEXTS = {
    "preferred": "The source that is searched first.",
    "top_k": "Documents per retrieval.",
    "max_steps": "The maximum number of steps, up to the limit of the pipeline.",
    "folders": "A folder of the collection with all below it, such as contracts or Letters/2024; several may be given.",
    "kinds": "A kind of file, such as pdf, docx, mail or .xlsx; several may be given.",
    "since": "Only documents whose first lines or name give a date in or after this year, month or day (2024-06-15).",
    "until": "Only documents whose first lines or name give a date in or before this year, month or day (2024-06-15).",
    "filters": "A Haystack metadata filter on the documents. It is applied by the sources that can filter.",
}
