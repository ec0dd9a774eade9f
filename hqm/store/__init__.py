"""The store: every answer and every label, append-only, in one SQLite file."""
