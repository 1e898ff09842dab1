"""Judges that decide whether to keep the passages of the preferred source, and the component that asks a judge."""
