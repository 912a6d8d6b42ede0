"""What goes wrong while a query runs, and how it shows that it hit something."""
