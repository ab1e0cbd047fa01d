"""Code that adapters share: the prompt policy, few-shot examples, prompts that fit the window, scoring."""
