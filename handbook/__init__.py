"""What makes the documentation: the site's hooks, its figures and tables, and the code blocks that tests run."""
