"""MSPR's preference, refinement and review."""
