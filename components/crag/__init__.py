"""CRAG's evaluator."""
