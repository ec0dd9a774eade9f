"""Pages: the report, its evidence, a comparison, the card and their sentences."""
