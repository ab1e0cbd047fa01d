"""From a run spec to its record: instances, requests, scores and statistics."""
