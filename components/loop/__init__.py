"""Route, record and reflect: what the loops of the methods share."""
