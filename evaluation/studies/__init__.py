"""Studies made of many evaluations."""
