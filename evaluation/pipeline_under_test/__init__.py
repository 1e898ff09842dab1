"""The pipeline of an evaluation: its replaced parts and its description."""
