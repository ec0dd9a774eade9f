"""Labels from people, as an audit uses them."""
