"""The pages, and what makes them."""
