"""Ratings by people: a questionnaire about models' answers, the page on which raters fill it in, and the results.

``questionnaire`` defines the questions and ``study`` the blinded answers that they are about. ``server`` serves the
page, and ``ratings`` keeps what raters chose in a file. ``measures`` computes the results, and ``table`` and ``people``
show them in terminals and on the results site. ``exchange`` imports and exports ratings.

The names below are public: metrics over people's ratings may import them.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from harness.annotation.measures import StudyResults as StudyResults
    from harness.annotation.measures import read_results as read_results

    __all__: list[str]
else:
    from harness.lazy_names import lazy_names

    __getattr__, __dir__ = lazy_names(__name__)
