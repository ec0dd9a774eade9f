"""Audits of published tables: numbers as they were printed, and nothing behind them."""
