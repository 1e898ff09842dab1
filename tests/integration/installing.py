"""How long an installation may take, and how it fails without a network."""

SECONDS = 300.0
# Messages of pip if it cannot reach a package index.
OFFLINE = ("NewConnectionError", "Temporary failure in name resolution", "No matching distribution", "Read timed out")
