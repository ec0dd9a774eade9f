"""Benchmarks and audits in the formats of others: data set metadata, READMEs, checklists, tasks."""
