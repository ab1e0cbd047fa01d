"""Chat templates give what transformers makes of them, and cannot take all memory or time."""

from __future__ import annotations

import copy
import os
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness import Completion, GenerateRequest, Message, ModelError, Tool, ToolCall
from harness.models.tokens.chat_templates import ChatTemplate
from harness.models.tokens.conversations import (
    Conversation,
    Templated,
    function_tools,
    template_messages,
    with_tool_calls,
    with_tools,
)
from harness.models.tokens.tokenizer import TextTokenizer
from harness.models.transformers.huggingface import HuggingFaceModel
from tests.devices import DEVICE

pytest.importorskip("transformers")

Make = Callable[..., Path]

CHATML = (
    "{% for message in messages %}\n"
    "    {{- '<|im_start|>' + message['role'] + '\\n' + message['content'] | trim + '<|im_end|>\\n' }}\n"
    "{% endfor %}\n"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"
)
STRICT = (
    "{%- if messages[0]['role'] == 'system' %}{%- set system = messages[0]['content'] %}{%- set rest = messages[1:] %}"
    "{%- else %}{%- set rest = messages %}{%- endif %}{{- bos_token }}"
    "{%- for message in rest %}"
    "{%- if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}{{- raise_exception('roles must alternate') }}"
    "{%- endif %}"
    "{%- if message['role'] == 'user' %}{%- if loop.first and system is defined %}"
    "{{- '[INST] ' + system + '\\n\\n' + message['content'] + '[/INST]' }}"
    "{%- else %}{{- '[INST] ' + message['content'] + '[/INST]' }}{%- endif %}"
    "{%- else %}{% generation %}{{- ' ' + message['content'] + eos_token }}{% endgeneration %}{%- endif %}"
    "{%- endfor %}"
)
NAMES = (
    "{% macro show(m) %}{{ m | tojson }}{% endmacro %}{% set ns = namespace(count=0) %}"
    "{% for m in messages %}{% if m.role == 'tool' %}{% continue %}{% endif %}{% set ns.count = ns.count + 1 %}"
    "{{ show(m) }}{% if ns.count > 3 %}{% break %}{% endif %}\n{% endfor %}{{ ns.count }}"
    "{{ tools is none }}{{ documents }}{{ strftime_now('%Y') | length }}{{ messages | tojson(indent=2) }}"
)

BOMBS = {
    "ljust": "{{ 'a'.ljust(3000000000) }}",
    "zfill": "{{ '1'.zfill(3 * 10**9) }}",
    "center": "{{ 'a' | center(3000000000) }}",
    "format": "{{ '{:3000000000}'.format(1) }}",
    "percent": "{{ '%3000000000d' % 1 }}",
    "tojson": "{{ [[1]] | tojson(indent=10**9) }}",
    "loops": "{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}",
    "output": "{% for i in range(99999) %}{% for j in range(99999) %}" + "a" * 1000 + "{% endfor %}{% endfor %}",
    "power": "{{ 2 ** (10 ** 10) }}",
    "doubling": "{% set ns = namespace(a='a' * 1000) %}{% for i in range(40) %}"
    "{% set ns.a = ns.a ~ ns.a %}{% endfor %}",
    "round": "{{ 1 | round(10**9, 'ceil') }}",
}


def messages(*turns: tuple[str, str]) -> list[dict[str, str]]:
    return [{"role": role, "content": content} for role, content in turns]


CONVERSATIONS = [
    messages(("user", "hello")),
    messages(("system", "be kind"), ("user", " é\u2028\r\n<&> \x00 {{ x }} 🙂 "), ("assistant", "ok"), ("user", "")),
    messages(("assistant", "first")),
    messages(("user", "go on"), ("assistant", "it is ")),
    messages(("user", "go on"), ("assistant", "")),
    messages(*[("user", "a"), ("tool", "b")] * 5),
]


THINKING = (
    "{%- for message in messages %}{%- set content = message.content %}"
    "{%- if message.role == 'assistant' and '</think>' in content %}"
    "{%- set content = content.split('</think>')[-1].lstrip('\\n') %}{%- endif %}"
    "{{- '<|im_start|>' + message.role + '\\n' }}"
    "{%- if message.role == 'assistant' and loop.last %}{{- '<think>\\n\\n</think>\\n\\n' }}{%- endif %}"
    "{{- content + '<|im_end|>\\n' }}{%- endfor %}"
    "{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}"
    "{%- if enable_thinking is defined and enable_thinking is false %}{{- '<think>\\n\\n</think>\\n\\n' }}{%- endif %}"
    "{%- endif %}"
)
"""In the form of Qwen3's."""


def way(conversation: Any) -> dict[str, bool]:
    """Return how transformers renders a conversation up to where the assistant goes on."""
    ends = conversation[-1]["role"] == "assistant"
    return {"continue_final_message": True} if ends else {"add_generation_prompt": True}


@pytest.fixture
def opened() -> Iterator[Callable[..., ChatTemplate]]:
    """Return a function that makes templates, which are closed afterwards."""
    made: list[ChatTemplate] = []

    def make(source: str, **limits: Any) -> ChatTemplate:
        made.append(ChatTemplate(source, {"bos_token": "<s>", "eos_token": "</s>"}, **limits))
        return made[-1]

    yield make
    for template in made:
        template.close()


@pytest.mark.parametrize(
    "source", [CHATML, STRICT, NAMES, THINKING, "", "text", "{{ messages[7].content }}", "{{ nothing.at.all }}"]
)
def test_the_texts_are_those_of_transformers(
    opened: Callable[..., ChatTemplate], tiny_tokenizer: Any, source: str
) -> None:
    template = opened(source)
    names = {"bos_token": "<s>", "eos_token": "</s>"}

    def expected(conversation: Any) -> str:
        try:
            return str(
                tiny_tokenizer.apply_chat_template(
                    conversation, chat_template=source, tokenize=False, **way(conversation), **names
                )
            )
        except Exception as error:
            return f"refused: {error}"

    for conversation, found in zip(CONVERSATIONS, template.render(CONVERSATIONS), strict=True):
        if "content" not in source and "continue_final_message" in way(conversation):
            continue  # transformers looks for the word, and refuses to continue without it
        text = f"refused: {found}" if isinstance(found, ValueError) else found
        theirs = expected(conversation)
        if "add_generation_prompt" not in way(conversation):  # their reasons are longer
            text, theirs = (one.partition(": ")[0] if one.startswith("refused") else one for one in (text, theirs))
        assert text == theirs


@pytest.mark.parametrize("given", [{}, {"enable_thinking": True}, {"enable_thinking": False}], ids=str)
def test_a_template_takes_the_users_variables(tiny_checkpoint: Make, tmp_path: Path, given: dict[str, Any]) -> None:
    from transformers import AutoTokenizer

    folder = shutil.copytree(tiny_checkpoint("llama", chat=True), tmp_path / "model")
    (folder / "chat_template.jinja").write_text(THINKING)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = HuggingFaceModel(str(folder), device=DEVICE, chat_template_kwargs=given)
    turns = (Message("user", "the question"),)
    asked = [{"role": "user", "content": "the question"}]
    expected = tokenizer.apply_chat_template(asked, tokenize=False, add_generation_prompt=True, **given)
    assert model.rendered(turns) == expected
    assert expected.endswith("</think>\n\n") == (given == {"enable_thinking": False})
    assert model.count_tokens(turns) == len(tokenizer(expected, add_special_tokens=False)["input_ids"])
    ((_, response),) = model.answer([GenerateRequest(turns, 2)])
    assert response.prompt_tokens == min(model.count_tokens(turns), 62)  # the window holds 64
    assert model.fingerprint().get("chat_template_kwargs", {}) == given
    model.close()


def test_variables_that_the_template_would_ignore_are_refused(tiny_checkpoint: Make) -> None:
    model = HuggingFaceModel(str(tiny_checkpoint("llama", chat=True)), chat_template_kwargs={"enable_thinkng": False})
    with pytest.raises(ModelError, match="its chat template has no variable 'enable_thinkng'"):
        model.fingerprint()
    model = HuggingFaceModel(str(tiny_checkpoint("llama")), chat_template_kwargs={"enable_thinking": False})
    with pytest.raises(ModelError, match="chat_template_kwargs is set, but the model has no chat template"):
        model.fingerprint()


def test_a_text_is_shown_with_the_special_tokens_around_it(tiny_tokenizer: Any) -> None:
    from tokenizers import processors
    from transformers import PreTrainedTokenizerFast

    marked = PreTrainedTokenizerFast(tokenizer_object=tiny_tokenizer.backend_tokenizer, bos_token="<|end|>")  # noqa: S106
    marked.backend_tokenizer.post_processor = processors.TemplateProcessing(
        single="<|end|> $A", special_tokens=[("<|end|>", 0)]
    )
    try:
        assert TextTokenizer(marked, 0).special_text("the answer ") == "<|end|>the answer "
        assert TextTokenizer(marked, 0).special_text("") == "<|end|>"
    finally:
        marked.backend_tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.lists(st.tuples(st.sampled_from(["system", "user", "assistant"]), st.text()), min_size=1, max_size=4),
        min_size=1,
        max_size=5,
    )
)
def test_any_text_survives_the_way_to_the_process_and_back(
    tiny_tokenizer: Any, shared: ChatTemplate, conversations: list[list[tuple[str, str]]]
) -> None:
    asked = [messages(*conversation) for conversation in conversations]
    expected = [
        tiny_tokenizer.apply_chat_template(one, chat_template=CHATML, tokenize=False, **way(one)) for one in asked
    ]
    assert shared.render(asked) == expected


@pytest.fixture(scope="module")
def shared() -> Iterator[ChatTemplate]:
    """One process for many examples."""
    template = ChatTemplate(CHATML, {})
    yield template
    template.close()


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_is_refused_once_and_for_all(opened: Callable[..., ChatTemplate], name: str) -> None:
    template = opened(BOMBS[name], seconds=1.0)
    found = template.render(CONVERSATIONS)
    assert len(found) == len(CONVERSATIONS)
    for one in found:
        assert isinstance(one, ValueError)
        assert "so it is not used" in str(one)
    clock = time.perf_counter()
    assert all(isinstance(one, ValueError) for one in template.render(CONVERSATIONS * 100))
    assert time.perf_counter() - clock < 30  # to ask for each would take 100 s


def test_a_template_that_does_not_parse_is_an_error(opened: Callable[..., ChatTemplate]) -> None:
    found = opened("{% for %}").render(CONVERSATIONS)
    assert all(isinstance(one, ValueError) and "Expected" in str(one) for one in found)


def test_a_process_that_was_killed_is_started_again(opened: Callable[..., ChatTemplate]) -> None:
    template = opened(CHATML)
    before = template.render(CONVERSATIONS)
    assert template._process is not None
    os.kill(template._process.pid, signal.SIGKILL)
    template._process.wait()
    assert template.render(CONVERSATIONS) == before


def test_a_process_ends_with_its_template() -> None:
    template = ChatTemplate(CHATML, {})
    template.render(CONVERSATIONS)
    process = template._process
    assert process is not None
    del template
    assert process.poll() is not None


def test_conversations_are_filled_in_together(opened: Callable[..., ChatTemplate]) -> None:
    template = opened(CHATML)
    template.render(CONVERSATIONS)
    many = [messages(("system", "be kind"), ("user", f"question {number} " + "word " * 100)) for number in range(2000)]
    before = os.times()
    assert len(template.render(many)) == 2000
    template.close()
    after = os.times()
    spent = sum(after[:4]) - sum(before[:4])  # of this process and, since it has ended, of that one
    assert spent < 2.0  # a thousand conversations take less than a second


@pytest.mark.parametrize("name", ["ljust", "loops"])
def test_a_checkpoint_with_a_bomb_answers_texts_and_refuses_conversations(
    tiny_checkpoint: Make, tmp_path: Path, name: str
) -> None:
    folder = shutil.copytree(tiny_checkpoint("gpt2", chat=True), tmp_path / "model")
    (folder / "chat_template.jinja").write_text(BOMBS[name])
    model = HuggingFaceModel(str(folder), device=DEVICE)
    conversation = (Message("user", "hello"),)
    with pytest.raises(ModelError, match=r"chat template refuses the conversation: it takes .*, so it is not used"):
        model.count_tokens(conversation)
    answers = dict(model.answer([GenerateRequest(conversation, 1), GenerateRequest("text", 1)]))
    assert "so it is not used" in (answers[0].error or "")
    assert answers[1].error is None
    model.close()


def test_a_tokenizer_s_own_way_is_kept(tiny_tokenizer: Any) -> None:
    class Own(type(tiny_tokenizer)):  # type: ignore[misc]
        def apply_chat_template(self, conversation: Any, **_: Any) -> str:
            return "|".join(message["content"] for message in conversation)

    tokenizer = Own(tokenizer_object=tiny_tokenizer.backend_tokenizer, **tiny_tokenizer.special_tokens_map)
    reader = TextTokenizer(tokenizer, 0)
    assert reader.render((Message("user", "a"), Message("assistant", "b"))) == "a|b"


TOOLS = (
    "{% if tools %}<tools>{% for tool in tools %}{{ tool | tojson }}\n{% endfor %}</tools>{% endif %}"
    "{% for message in messages %}<{{ message.role }}>"
    "{% if message.tool_call_id %}[{{ message.tool_call_id }}]{% endif %}{{ message.content }}"
    "{% for call in message.tool_calls %}<tool_call>{{ call.function | tojson }}</tool_call>{% endfor %}"
    "</{{ message.role }}>{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}"
)
"""In the form of Hermes's and Qwen's."""

WEATHER = Tool("weather", "Tells it", {"type": "object", "properties": {"city": {"type": "string"}}})
BERN = '{"name": "weather", "arguments": {"city": "Bern"}}'
CALL = ToolCall("weather", {"city": "Bern"}, "a1")
CALLED = (Message("user", "In Bern?"), Message("assistant", "", (CALL,)), Message("tool", "sun", tool_call_id="a1"))


@pytest.mark.parametrize("named", [False, True])
def test_tools_and_calls_are_in_the_template_as_transformers_has_them(tiny_tokenizer: Any, named: bool) -> None:
    """Also where a checkpoint has one template for tools, and another without."""
    template = {"default": CHATML, "tool_use": TOOLS} if named else TOOLS
    tokenizer = copy.deepcopy(tiny_tokenizer)
    tokenizer.chat_template = template
    reader = TextTokenizer(tokenizer, 0)
    plain = (Message("user", "hello"),)
    asked: list[Templated] = [
        Conversation(CALLED, (WEATHER,)),
        plain,
        Conversation(plain, (WEATHER,)),
        Conversation(plain),
    ]
    found = reader.render_all(asked)
    for one, text in zip(asked, found, strict=True):
        assert not isinstance(one, str)
        talk = one if isinstance(one, Conversation) else Conversation(one)
        expected = tokenizer.apply_chat_template(
            template_messages(talk.messages),
            tools=function_tools(talk.tools) or None,
            tokenize=False,
            add_generation_prompt=True,
        )
        assert text == expected
        assert reader.special_text(with_tools(talk.messages, talk.tools)) == expected
        assert ("<tools>" in text) == bool(talk.tools)
    reader.close()


@pytest.mark.parametrize(("template", "tools"), [(CHATML, False), (TOOLS, True)])
def test_a_model_takes_tools_if_its_template_does(
    tiny_checkpoint: Make, tmp_path: Path, template: str, tools: bool
) -> None:
    folder = shutil.copytree(tiny_checkpoint("llama", chat=True), tmp_path / "model")
    (folder / "chat_template.jinja").write_text(template)
    assert HuggingFaceModel(str(folder), device=DEVICE).tools == tools
    assert not HuggingFaceModel(str(folder), device=DEVICE, chat=False).tools


def test_a_checkpoint_reads_the_tools_that_are_offered(tiny_checkpoint: Make, tmp_path: Path) -> None:
    folder = shutil.copytree(tiny_checkpoint("llama", chat=True), tmp_path / "model")
    (folder / "chat_template.jinja").write_text("{{ tools | length if tools else 0 }}{{ messages | length }}: ")
    model = HuggingFaceModel(str(folder), device=DEVICE)
    asked = GenerateRequest((Message("user", "hello"),), 5, tools=(WEATHER, Tool("now")))
    assert model.rendered(asked.prompt, asked.tools) == "21: "
    alike = GenerateRequest("21: ", 5)  # as text, which this tokenizer puts no special tokens around
    offered, written, without = (dict(model.answer([one]))[0] for one in (asked, alike, replace(asked, tools=())))
    assert offered.completions[0].text == written.completions[0].text != without.completions[0].text
    model.close()


@pytest.mark.parametrize(
    ("written", "text", "calls"),
    [
        ("It is sunny.", "It is sunny.", ()),
        (f"<tool_call>\n{BERN}\n</tool_call>", "", (("call-1", {"city": "Bern"}),)),
        (f"I look.\n<tool_call>{BERN}", "I look.", (("call-1", {"city": "Bern"}),)),
        (
            f'<tool_call>{{"name": "weather"}}</tool_call>\n<tool_call>{BERN}</tool_call>',
            "",
            (("call-1", {}), ("call-2", {"city": "Bern"})),
        ),
        ('<tool_call>{"name": "weather", "arguments": "Bern"}</tool_call>', "", (("call-1", "Bern"),)),
        ('<tool_call>{"name": "weather", "argu</tool_call>', '<tool_call>{"name": "weather", "argu</tool_call>', ()),
        ("<tool_call>[1]</tool_call>", "<tool_call>[1]</tool_call>", ()),
        (
            f"<think><tool_call>{BERN}</tool_call>?</think>\n<tool_call>{BERN}</tool_call>",
            f"<think><tool_call>{BERN}</tool_call>?</think>",
            (("call-1", {"city": "Bern"}),),
        ),
        (f"<think><tool_call>{BERN}</tool_call>", f"<think><tool_call>{BERN}</tool_call>", ()),
    ],
)
def test_calls_that_are_written_as_text(written: str, text: str, calls: tuple[Any, ...]) -> None:
    request = GenerateRequest((Message("user", "In Bern?"),), 50, tools=(WEATHER,))
    completion = with_tool_calls(Completion(written, finish_reason="stop"), request)
    assert completion.finish_reason == ("tool_call" if calls else "stop")
    assert completion.declined is None
    assert completion.text == text
    assert completion.tool_calls == tuple(ToolCall("weather", arguments, name) for name, arguments in calls)
    assert with_tool_calls(Completion(written), replace(request, tools=())) == Completion(written)
