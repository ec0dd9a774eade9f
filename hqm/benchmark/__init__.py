"""The one interface: what a benchmark asks, and what an answer to it is worth."""
