"""From requests to responses: the response cache, equal requests asked once, and models shared by name."""
