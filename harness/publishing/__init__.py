"""Publishing results on the Hugging Face Hub: as a data set, and in the repositories of models."""
