"""The motion from which parameters are identified best."""
