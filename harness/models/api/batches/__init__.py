"""Batch interfaces: requests are submitted in large batches and answered within a day, at half the price.

    run a ─┐                 ┌─ submitted ─► polled ─► results, kept on disk ─┐
    run b ─┼─► gathered ─► batch                                              ├─► answers, in the response cache
    run c ─┘                 └─ recorded on disk before it is submitted       ┘

A request is known by a digest of its body. After a restart the harness makes the same requests again, finds them in the
record of batches (``batches/`` next to the response cache) and waits for those batches instead of submitting anything.
"""
