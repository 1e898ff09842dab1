"""One module for each kind of file that is read."""
