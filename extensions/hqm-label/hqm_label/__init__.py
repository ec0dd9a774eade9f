"""Labels from people: which answers are labelled, the page, the labels, their way in and out."""
