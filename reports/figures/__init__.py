"""Figures: drawings of the page, and figures for print."""
