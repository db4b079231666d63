"""What a person runs: the command line, the report, the studio."""
