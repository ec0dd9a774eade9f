"""One folder per benchmark: its card, and its items where they are embedded."""
