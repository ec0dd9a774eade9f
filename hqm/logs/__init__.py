"""The logs of other tools, read into rows: what was answered, to which question, by whom, and what
the tool scored.
"""
