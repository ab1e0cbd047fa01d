"""From result folders to tables that compare models."""
