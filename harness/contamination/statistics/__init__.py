"""The statistics of testing whether a model depends on the published order of a data set: pure functions, no model."""
