"""What Haystack's Elasticsearch integration does not offer: title look-ups, checks of filters, clear errors."""
