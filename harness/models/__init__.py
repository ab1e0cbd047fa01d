"""The model backends that come with the harness.

    api/openai.py  api/anthropic.py      models behind a server
    api/litellm.py                       models of other providers, through a library
    transformers/huggingface.py          a checkpoint in PyTorch, in this process
    vllm/backend.py                      a checkpoint in a vLLM engine
    offline/fake.py  offline/replay.py   no model at all: seeded hashes, and predictions made elsewhere
    tokens/                              what several of them share: checkpoints, tokenizers, chat templates,
                                         stop sequences, windows

Each of these files is a backend and the place to start reading; the files next to it are its parts.
"""
