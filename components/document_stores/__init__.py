"""Where passages are kept."""
