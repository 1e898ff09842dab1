"""The components of MSPR: selection of the source, summaries of observations, review of the answer."""
