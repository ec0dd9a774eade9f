"""The commands, one function each; `hqm.cli` gives them their names.

Heavy imports happen inside them.
"""
