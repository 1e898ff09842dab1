"""Run an evaluation on all questions and store its results in a folder."""
