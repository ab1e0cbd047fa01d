"""Tokenizing for causal language models as lm-evaluation-harness does it, in batches; applies the chat template."""

from __future__ import annotations

from array import array
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from types import MappingProxyType
from typing import Any

from harness import ModelError
from harness.backends import reraise_interrupt
from harness.models.tokens.chat_templates import ChatTemplate
from harness.models.tokens.conversations import Conversation, Templated, function_tools, template_messages

Tokens = tuple[int, ...]

_REMEMBERED = 8192
_REMEMBERED_CUTS = 256
"""Texts whose tokens' places are remembered."""
_LONGEST_REMEMBERED = 100_000
"""Characters of the longest of them."""


class TextTokenizer:
    """A transformers tokenizer with the conventions of likelihood scoring.

    Args:
        tokenizer: From ``AutoTokenizer``.
        prefix: The token that precedes every text: beginning of text, else end of text.
        template_arguments: More variables of the chat template, such as ``enable_thinking``.

    Attributes:
        prefix: The same.
    """

    def __init__(
        self, tokenizer: Any, prefix: int, template_arguments: Mapping[str, Any] = MappingProxyType({})
    ) -> None:
        self.prefix = prefix
        self._template_arguments = dict(template_arguments)
        self._tokenizer = tokenizer
        self._prefix_text = tokenizer.decode([prefix])
        self._texts: dict[int, str] = {}
        self._marked_texts: dict[int, str] = {}
        self._counts: OrderedDict[str, int] = OrderedDict()
        self._ends: OrderedDict[str, Sequence[int]] = OrderedDict()
        self._segments: OrderedDict[tuple[str, ...], tuple[Tokens, ...]] = OrderedDict()
        self._rendered: OrderedDict[Conversation, str | ValueError] = OrderedDict()
        self._templates: dict[str, ChatTemplate] = {}

    @property
    def template(self) -> str:
        """The source of the chat template, or of all of them; empty if there is none."""
        found = getattr(self._tokenizer, "chat_template", None)
        return "" if found is None else found if isinstance(found, str) else repr(found)

    def encode(self, texts: Iterable[str], *, special: bool) -> dict[str, Tokens]:
        """Return the tokens of each distinct text.

        Args:
            texts: The texts.
            special: True to add the tokenizer's special tokens, except to a text that already begins with one.
        """
        different = list(dict.fromkeys(texts))
        plain = [text for text in different if not special or self._begins_with_prefix(text)]
        marked = [text for text in different if special and not self._begins_with_prefix(text)]
        return self._batch(plain, False) | self._batch(marked, True)

    def pairs(self, pairs: Sequence[tuple[str, str, bool]]) -> list[tuple[Tokens, Tokens]]:
        """Return the tokens of contexts and continuations.

        They are tokenized together and split where the context alone would end; whitespace at the end of the context
        belongs to the continuation (lm-evaluation-harness, ``_encode_pair``). An empty context becomes the prefix
        token, unless the continuation begins with it.

        Args:
            pairs: Context, continuation, and True to add special tokens.
        """
        contexts = [context.rstrip() for context, _, _ in pairs]
        wholes = [context + continuation for context, continuation, _ in pairs]
        bare = [not context or not special for context, (_, _, special) in zip(contexts, pairs, strict=True)]
        known = {
            special: self.encode(
                (
                    text
                    for texts in (contexts, wholes)
                    for text, flag in zip(texts, bare, strict=True)
                    if flag != special
                ),
                special=special,
            )
            for special in (True, False)
        }
        found = []
        for context, whole, flag in zip(contexts, wholes, bare, strict=True):
            before, both = known[not flag][context], known[not flag][whole]
            after = both[len(before) :]
            if not before:
                before = (self.prefix,)
                after = after[1:] if after[:1] == before else after
            found.append((before, after))
        return found

    def prompts(self, prompts: Sequence[Templated]) -> list[Tokens]:
        """Return the tokens of texts, with special tokens, and of conversations, whose template contains them.

        Raises:
            ValueError: The chat template refuses a conversation.
        """
        texts = self.render_all(prompts)
        chats = [not isinstance(prompt, str) for prompt in prompts]
        known = {
            chat: self.encode((text for text, flag in zip(texts, chats, strict=True) if flag == chat), special=not chat)
            for chat in (True, False)
        }
        return [known[chat][text] or (self.prefix,) for text, chat in zip(texts, chats, strict=True)]

    def segments(self, segments: tuple[str, ...]) -> tuple[Tokens, ...]:
        """Return the tokens of each segment, tokenized separately; cached, since many orders share the segments."""
        if segments not in self._segments:
            known = self.encode(segments, special=False)
            remember(self._segments, segments, tuple(known[segment] for segment in segments), 64)
        return self._segments[segments]

    def render(self, prompt: Templated) -> str:
        """Apply the chat template to a conversation, up to where the assistant goes on; texts stay as they are.

        Raises:
            ValueError: The template refuses it, for example because it does not support system messages.
        """
        return self.render_all([prompt])[0]

    def render_all(self, prompts: Sequence[Templated]) -> list[str]:
        """Return several prompts as :meth:`render` does.

        Raises:
            ValueError: The template refuses one of them.
        """
        talks = [one if isinstance(one, str | Conversation) else Conversation(one) for one in prompts]
        known = {one: self._rendered.get(one) for one in talks if not isinstance(one, str)}
        asked = [one for one, text in known.items() if text is None]
        for one, filled in zip(asked, self._render(asked), strict=True):
            known[one] = filled
            remember(self._rendered, one, filled, _REMEMBERED)
        found = []
        for talk in talks:
            text = talk if isinstance(talk, str) else known[talk]
            if isinstance(text, ValueError):
                raise ValueError(f"the model's chat template refuses the conversation: {text}")
            found.append(str(text))
        return found

    def ready(self, prompts: Iterable[Templated]) -> None:
        """Apply the chat template ahead of time to conversations that will be needed one by one."""
        with suppress(ValueError):
            self.render_all(list(prompts))

    def close(self) -> None:
        """End the process that renders the chat template, if there is one."""
        for template in self._templates.values():
            template.close()

    def _render(self, prompts: Sequence[Conversation]) -> list[str | ValueError]:
        from transformers import PreTrainedTokenizerBase

        own = type(self._tokenizer).apply_chat_template
        if own is not PreTrainedTokenizerBase.apply_chat_template:  # code, not a template
            return [self._apply(prompt) for prompt in prompts]
        found: dict[int, str | ValueError] = {}
        for offering in (False, True):  # a checkpoint may have a template of its own for tools
            places = [place for place, prompt in enumerate(prompts) if bool(prompt.tools) == offering]
            found |= zip(places, self._fill([prompts[place] for place in places], offering), strict=True)
        return [found[place] for place in range(len(prompts))]

    def _fill(self, prompts: Sequence[Conversation], offering: bool) -> Sequence[str | ValueError]:
        """Fill the chat template with conversations of which all, or none, offer tools."""
        if not prompts:
            return []
        try:
            source = self._tokenizer.get_chat_template(tools=True if offering else None)
        except ValueError as error:
            return [error] * len(prompts)
        if source not in self._templates:
            self._templates[source] = ChatTemplate(
                source, {**self._tokenizer.special_tokens_map, **self._template_arguments}
            )
        tools = [function_tools(prompt.tools) for prompt in prompts] if offering else []
        return self._templates[source].render([template_messages(prompt.messages) for prompt in prompts], tools)

    def _apply(self, prompt: Conversation) -> str | ValueError:
        messages, tools = template_messages(prompt.messages), function_tools(prompt.tools) or None
        ends = messages[-1:] and messages[-1]["role"] == "assistant" and "tool_calls" not in messages[-1]
        how = {"continue_final_message": True} if ends else {"add_generation_prompt": True}
        try:
            text = self._tokenizer.apply_chat_template(
                messages, tools=tools, tokenize=False, **how, **self._template_arguments
            )
            return str(text)
        except BaseException as error:
            reraise_interrupt(error)
            return ValueError(str(error))

    def special_text(self, prompt: Templated) -> str:
        """Return a prompt as the model reads it: by the chat template, or with the special tokens around a text.

        Raises:
            ValueError: The chat template refuses the conversation.
        """
        text = self.render(prompt)
        if not isinstance(prompt, str):
            return text
        plain, marked = (self.encode([text], special=special)[text] for special in (False, True))
        for start in range(len(marked) - len(plain) + 1):
            if plain and marked[start : start + len(plain)] == plain:
                before, after = marked[:start], marked[start + len(plain) :]
                return f"{self._tokenizer.decode(list(before))}{text}{self._tokenizer.decode(list(after))}"
        return str(self._tokenizer.decode(list(marked or (self.prefix,))))

    def count(self, prompt: Templated) -> int:
        """Return the number of tokens of a prompt; 1 for an empty prompt, which becomes the prefix token."""
        text = self.render(prompt)
        special = isinstance(prompt, str)
        key = f"{special:d}{text}"
        if key not in self._counts:
            remember(self._counts, key, len(self.encode([text], special=special)[text]) or 1, _REMEMBERED)
        return self._counts[key]

    def truncate(self, text: str, tokens: int) -> str:
        """Return the longest beginning of the text that has at most that many tokens."""
        if tokens <= 0:
            return ""
        ends = self._ends_of(text)
        if len(ends) <= tokens:
            return text
        end = ends[tokens - 1]
        while len(self._batch([text[:end]], False)[text[:end]]) > tokens:
            end -= 1
        return text[:end]

    def decode(self, tokens: Sequence[int]) -> str:
        """Return the text of tokens, without special tokens."""
        with _failures("decode tokens"):
            text = self._tokenizer.decode(list(tokens), skip_special_tokens=True, clean_up_tokenization_spaces=False)
        return str(text)

    def decode_marked(self, tokens: Sequence[int]) -> str:
        """Return the text of tokens, special tokens included: some models write marks with them."""
        with _failures("decode tokens"):
            text = self._tokenizer.decode(list(tokens), skip_special_tokens=False, clean_up_tokenization_spaces=False)
        return str(text)

    def may_end_marked(self, token: int, mark: str) -> bool:
        """Return False only if a mark cannot end inside a token, which may be a special one."""
        if token not in self._marked_texts:
            self._marked_texts[token] = self.decode_marked([token])
        text = self._marked_texts[token]
        return "\ufffd" in text or mark[-1:] in text

    def may_end(self, token: int, strings: Sequence[str]) -> bool:
        """Return False only if none of the strings can end inside a token."""
        if token not in self._texts:
            self._texts[token] = self.decode([token])
        text = self._texts[token]
        # A tokenizer may leave out the space before a token that is decoded alone.
        return "\ufffd" in text or any(string[-1:].isspace() or string[-1:] in text for string in strings)

    def decode_each(self, tokens: Iterable[int]) -> list[str]:
        """Return a distinct text for each of some distinct tokens, including special ones.

        Tokens that are part of a character, or whose text is taken, have their spelling in the vocabulary.
        """
        texts: dict[str, None] = {}
        for token in tokens:
            text = str(self._tokenizer.decode([token], clean_up_tokenization_spaces=False))
            if "\ufffd" in text or text in texts:
                text = str(self._tokenizer.convert_ids_to_tokens(token))
            texts[text] = None
        return list(texts)

    def _begins_with_prefix(self, text: str) -> bool:
        return bool(self._prefix_text) and text.startswith(self._prefix_text)

    def _batch(self, texts: list[str], special: bool) -> dict[str, Tokens]:
        if not texts:
            return {}
        with _failures("tokenize a text"):
            encoded = self._tokenizer(texts, add_special_tokens=special, return_attention_mask=False, verbose=False)
        return {text: tuple(ids) for text, ids in zip(texts, encoded["input_ids"], strict=True)}

    def _ends_of(self, text: str) -> Sequence[int]:
        """Return the place in a text where each of its tokens ends; its length for each if the places are unknown.

        The train trials of a run cut the same texts.
        """
        if text in self._ends:
            return self._ends[text]
        if self._tokenizer.is_fast:
            with _failures("tokenize a text"):
                encoded = self._tokenizer(text, add_special_tokens=False, return_offsets_mapping=True, verbose=False)
            ends = array("I", [end for _, end in encoded["offset_mapping"]])
        else:
            ends = array("I", [len(text)] * len(self._batch([text], False)[text]))
        if len(text) <= _LONGEST_REMEMBERED:
            remember(self._ends, text, ends, _REMEMBERED_CUTS)
        return ends


@contextmanager
def _failures(what: str) -> Iterator[None]:
    """Report whatever a tokenizer raises, including a panic of its native code, as a failure of the model."""
    try:
        yield
    except BaseException as error:
        reraise_interrupt(error)
        raise ModelError(f"the model's tokenizer cannot {what}: {type(error).__name__}: {error}") from error


def remember(known: OrderedDict[Any, Any], key: Any, value: Any, most: int) -> None:
    """Add a value to a cache, which loses its oldest one if it holds more than a number of them."""
    known[key] = value
    if len(known) > most:
        known.popitem(last=False)
