"""Code that perturbations share: replacing words and phrases, noting the changes, and the lists of words."""
