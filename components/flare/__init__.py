"""FLARE's look ahead."""
