"""Who may ask what: keys, the page's token, shares, the end of a request."""
