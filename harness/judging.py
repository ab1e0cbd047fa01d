"""Public names for judges and for metrics that ask models, in addition to those of ``harness``."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    # Models that are asked, what they said, and prompts from files.
    from harness.contracts import Judgement as Judgement, JudgeModel as JudgeModel, ModelFinder as ModelFinder
    from harness.data.prompt_file import PromptFile as PromptFile, read_prompt_file as read_prompt_file

    __all__: list[str]
else:
    from harness.lazy_names import lazy_names

    __getattr__, __dir__ = lazy_names(__name__)
