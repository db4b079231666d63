"""Its place puts the helpers beside it (planted, real_logs) on the path of the tests in the folders below."""
