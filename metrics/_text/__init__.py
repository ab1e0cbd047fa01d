"""Code that metrics of text share: normalisation, words, references, generated texts, encoders."""
