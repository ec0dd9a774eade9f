"""Requests shared by the machines of a Ray cluster: `--set engine=ray` of HQM."""
