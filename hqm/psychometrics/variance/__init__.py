"""Variance components: generalizability, studies as a whole, forecasts and error budgets."""
