"""The requests, filters and title look-ups that Elasticsearch needs in addition to its Haystack integration."""
