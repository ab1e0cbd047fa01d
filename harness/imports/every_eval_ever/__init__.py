"""Reading and checking files of Every Eval Ever (evaleval/every_eval_ever, arXiv 2606.14516), schema 0.3.0.

``harness.exports.every_eval_ever`` writes them; what both need to agree on is in ``layout``.
"""
