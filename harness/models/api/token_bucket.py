"""So much a minute and no more: a bucket that fills steadily and is emptied by what is spent."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True)
class TokenBucket:
    """Limits a rate; it holds a second's worth, so that any minute has at most a second's worth more than it may.

    What is taken may turn out to be more or less than was thought; :meth:`correct` says so afterwards, and a bucket in
    debt gives nothing until it has filled again. The caller tells the time, in seconds.
    """

    per_minute: float
    """How much flows in, in a minute."""
    _level: float = field(init=False)
    _filled: float | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        self._level = self._size

    @property
    def _size(self) -> float:
        return max(1.0, self.per_minute / 60)

    def wait(self, amount: float, now: float) -> float:
        """Return how many seconds there are to wait for so much; more than the bucket holds waits until it is full."""
        self._fill(now)
        missing = min(amount, self._size) - self._level
        return max(0.0, missing * 60 / self.per_minute)

    def take(self, amount: float, now: float) -> None:
        """Take so much, whether it is there or not."""
        self._fill(now)
        self._level -= amount

    def correct(self, difference: float) -> None:
        """Put back what was taken too much; negative for what was taken too little."""
        self._level = min(self._size, self._level + difference)

    def change(self, per_minute: float, now: float) -> None:
        """Let another amount flow in from now on; what is in the bucket, or owed, stays."""
        self._fill(now)
        self.per_minute = per_minute

    def _fill(self, now: float) -> None:
        elapsed = 0.0 if self._filled is None else max(0.0, now - self._filled)
        self._level = min(self._size, self._level + elapsed * self.per_minute / 60)
        self._filled = now
