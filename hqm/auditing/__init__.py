"""Auditing: from evidence to an audit, and from an audit to a gate."""
