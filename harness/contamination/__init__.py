"""Tests of whether a model was trained on a data set, from the order in which the data were published."""
