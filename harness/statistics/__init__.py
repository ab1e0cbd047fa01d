"""Statistics over examples: means, standard errors and intervals."""
