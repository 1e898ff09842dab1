"""Prepare the pipeline that an evaluation tests: replace some of its components, and describe the pipeline."""
