"""The state of a run: how it begins, what it holds, and the result that it becomes."""
