"""Several audits, or several readings of one benchmark, over the same respondents."""
