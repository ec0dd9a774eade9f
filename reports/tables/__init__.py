"""Tables: the one place that rounds, and what each table holds."""
