"""Groups of cases. Each is a product of kinds of data and ways to handle them."""
