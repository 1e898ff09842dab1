"""Judges that decide whether passages of the preferred source are worth keeping, and the component that asks them."""
