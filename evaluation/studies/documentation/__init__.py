"""Measure how often the judge needlessly turns from a user's own files (here, software documentation) to the web."""
