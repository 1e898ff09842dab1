"""Measure how often the judge needlessly turns to the web although a user's own files have the answer.

The user's own files are software documentation here.
"""
