"""Public names for backends, in addition to those of ``harness``.

Judges that call a server use them too, to hide secrets in messages.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    # Responses: why one was declined or ended, what served it and what it cost.
    from harness.contracts import (
        DECLINES as DECLINES,
        FINISH_REASONS as FINISH_REASONS,
        Decline as Decline,
        Determinism as Determinism,
        Effort as Effort,
        FinishReason as FinishReason,
        Ledger as Ledger,
        NoticeBoard as NoticeBoard,
        Served as Served,
    )
    from harness.answers.check import most_tokens as most_tokens
    from harness.answers.reasoning import (
        DEFAULT_BUDGET as DEFAULT_BUDGET,
        KNOWN_MARKS as KNOWN_MARKS,
        Marks as Marks,
        ReasoningSplit as ReasoningSplit,
        budget_of as budget_of,
        marks_of as marks_of,
        set_reasoning_apart as set_reasoning_apart,
        split_reasoning as split_reasoning,
    )
    from harness.costs.graphics_cards import GraphicsCards as GraphicsCards, graphics_cards as graphics_cards
    from harness.costs.prices import Price as Price, load_prices as load_prices
    from harness.costs.token_estimate import estimated_tokens as estimated_tokens

    # A model in several processes.
    from harness.inference.process_replica import local_pool as local_pool
    from harness.inference.replica_pool import ReplicaPool as ReplicaPool

    # True unless models in this process only count tokens and describe themselves.
    from harness.inference.asked import models_are_asked as models_are_asked

    # Messages: secrets hidden, interrupts passed on.
    from harness.errors import reraise_interrupt as reraise_interrupt
    from harness.output.redaction import Redaction as Redaction, shown_address as shown_address

    # Files: archives that are read as they are unpacked, and a folder for what can be computed again.
    from harness.data.archives import DAMAGE as DAMAGE, open_file as open_file
    from harness.installation import user_cache_folder as user_cache_folder

    __all__: list[str]
else:
    from harness.lazy_names import lazy_names

    __getattr__, __dir__ = lazy_names(__name__)
