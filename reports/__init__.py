"""Audits as tables, figures and pages."""
