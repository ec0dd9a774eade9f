"""A reader for each tool: a module with `SOURCE` (the tool's name behind `--from`), `is_log` and
`read_log`.
"""
