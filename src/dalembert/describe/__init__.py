"""From a file or a table to a `Description`, and back."""
