"""Writing files of Every Eval Ever (evaleval/every_eval_ever, arXiv 2606.14516), schema 0.3.0.

For each run, ``data/{scenario}/{developer}/{model}/{uuid}.json`` and beside it ``{uuid}_samples.jsonl``.
"""
