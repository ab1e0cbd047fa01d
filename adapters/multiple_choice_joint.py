"""Joint multiple choice: the options are listed by letter in one prompt, and the model writes a letter."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import Field

from adapters._prompt.few_shot_adapter import completions_of, probability_of
from adapters._prompt.fitting import PromptFitter
from adapters._prompt.generating import GeneratingAdapter, GeneratingPolicy
from adapters._prompt.lettered_options import LetteredAdapter, OrderedOptions
from adapters._prompt.prompt import Shot
from adapters._prompt.prompt_policy import StopSequence
from harness import Adapted, Instance, Prediction, Response, adapter
from harness.answers import read_answer, read_option, read_options


@adapter(
    "multiple_choice_joint",
    title="Multiple choice (joint)",
    short="joint",
    source="Hendrycks et al. 2021 (arXiv:2009.03300); Liang et al. 2022, section 7",
)
class MultipleChoiceJoint(GeneratingAdapter, LetteredAdapter):
    """The question and all options, listed by letter, in one prompt; the model answers with a letter.

    The letter may be alone, in a short answer, such as "B) Paris" or "I think it's B", or at the end of a chain of
    thought. An output that names no option, or several, chooses none; the prediction is then empty.
    """

    asks = frozenset({"generate"})

    class Params(GeneratingPolicy, OrderedOptions):
        """Settings of joint multiple choice; the defaults are those of HELM's multiple-choice factory.

        By default, one token is decoded greedily.
        """

        max_tokens: int = Field(default=1, ge=1)
        """Maximum number of tokens that the model generates; one is enough for models that answer with a bare letter.
        """

        stop_sequences: tuple[StopSequence, ...] = ()
        """Texts that end the output."""

        multi_label: bool = False
        """Several options can be correct together: an example shows the letters of all of them, joined by ", ", and
        the prediction is the set of all letters that the output names, right only if it is exactly the correct one.
        """

    params: Params

    def shot(self, instance: Instance) -> Shot:
        letters = self.letters(instance)
        answer = self.shown_answer(instance, self.gold_letters(instance, letters))
        return Shot(instance.id, ((self.question(instance, letters), answer),))

    def ask(self, instance: Instance, prompts: PromptFitter, *, trial: int, seed: int) -> Adapted:
        letters = self.letters(instance)
        fitted = prompts.fit([self.question(instance, letters)], instance=instance.id)
        request = self.request(fitted.prompts[0], instance, trial)
        return fitted.adapted(instance, [request], trial, labels=letters)

    def predict(self, adapted: Adapted, responses: Sequence[Response]) -> Prediction:
        """Map the options that the output names to their references."""
        completion = completions_of(responses[0], adapted.instance)[0]
        readings = {
            name: None if read is None else self._letters(read, adapted)
            for name, read in read_answer(self.params.answer, completion.text, *_shown(adapted)).items()
        }
        return Prediction.of_letters(
            adapted.instance,
            adapted.labels,
            next(iter(readings.values())) if readings else self._letters(completion.text, adapted),
            several=self.params.multi_label,
            probability=probability_of(completion),
            readings=readings,
        )

    def _letters(self, text: str, adapted: Adapted) -> str | None:
        """Return the letter that a text names, or with ``multi_label`` all letters; None for no letter."""
        labels, options = _shown(adapted)
        if self.params.multi_label:
            return ", ".join(labels[position] for position in read_options(text, labels, options)) or None
        position = read_option(text, labels, options)
        return None if position is None else labels[position]


def _shown(adapted: Adapted) -> tuple[Sequence[str], Sequence[str]]:
    """Return the letters and the texts of the options that were shown."""
    return adapted.labels, [reference.text for reference in adapted.instance.references]
