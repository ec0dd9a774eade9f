"""Tables of a paper, written as LaTeX, Markdown, CSV and JSON."""
