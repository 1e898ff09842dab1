"""What every request passes: limits, bodies, readiness, metrics, the log."""
