"""The reasoner, which takes the steps of a run with a model or an extractive reader, and the model's reply formats."""
