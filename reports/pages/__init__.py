"""Pages: the report, its evidence, a comparison, a published table, the card and their sentences."""
