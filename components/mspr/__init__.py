"""The components of MSPR: they select the source, summarise observations and review the answer."""
