"""The component of FLARE, which searches when the model is unsure of its next sentence."""
