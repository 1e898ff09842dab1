"""Measure how often the judge needlessly turns from a user's own files to the web. The files document packages."""
