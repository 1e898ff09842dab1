"""Additions to Haystack's Elasticsearch integration: title look-ups, checks of filters, and clear errors."""
