"""Code that tests of the published order share: reading a data set, its diagnostics, and the questions of each test."""
