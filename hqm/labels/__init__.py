"""Labels from people: which answers are to be labelled, the labels themselves, and their way in and
out.
"""
