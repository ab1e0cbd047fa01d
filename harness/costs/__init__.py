"""What a run used: tokens, time, energy and money."""
