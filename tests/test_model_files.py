"""Files of models: damage is one line, and what was loaded cannot be changed."""

import contextlib
import json
import os
import pickle
import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dnatrace.errors import InputError
from dnatrace.networks.decoder import is_decoder, load_decoder
from dnatrace.networks.model_file import pack
from dnatrace.networks.runtime import load_model, read_model

from .command_line import run as dnatrace
from .tampered_models import edit_metadata, parts_of, put, write


@pytest.mark.parametrize("load", [load_model, load_decoder])
def test_a_cached_network_cannot_be_changed(load):
    network = load()
    parts = [*network.weights.values()]
    if load is load_model:
        parts += [network.grid, network.table, *network.trained.values()]
        parts += [layer for layer in network._layers if np.ndim(layer)]
    for array in parts:
        assert not array.flags.writeable
    with pytest.raises(TypeError):
        network.weights[next(iter(network.weights))] = parts[0]
    sent = pickle.loads(pickle.dumps(network.weights))  # as to another process
    assert not any(array.flags.writeable for array in sent.values())


def without_seal(path):
    header, body = parts_of(path)
    del header["__metadata__"]["seal"]
    put(path, header, body)


def without_offsets(path):
    header, body = parts_of(path)
    header["grid"]["data_offsets"] = []
    put(path, header, body)


def raw_header(path, text):
    path.write_bytes(struct.pack("<Q", len(text)) + text)


BROKEN = {
    "no seal": without_seal,
    "no offsets": without_offsets,
    "deep": lambda p: raw_header(p, b"[" * 200_000),
    "deep text": lambda p: raw_header(
        p, json.dumps({"__metadata__": {"dnatrace": '{"a":' * 100_000, "seal": ""}}).encode()
    ),
    "many layers": lambda p: edit_metadata(
        p, lambda m: m["architecture"].update(kind="paper", depth=10**9)
    ),
    "pipe": lambda p: (p.unlink(), os.mkfifo(p)),
}


@pytest.mark.parametrize("how", BROKEN)
def test_a_broken_model_is_one_line(how, tmp_path):
    path = tmp_path / "m.safetensors"
    write(path)
    BROKEN[how](path)
    for read in (load_model, load_decoder):
        with pytest.raises(InputError) as error:
            read(path)
        assert "\n" not in str(error.value)
        assert str(path) in str(error.value)
    told = dnatrace("certify", path)
    assert told.returncode == 2


def test_a_decoder_with_an_alarm_beyond_all_numbers_is_refused(tmp_path):
    path = tmp_path / "d.safetensors"
    about = {"decoder": {"low": 0.1, "high": 10**400}, "provenance": {}}
    path.write_bytes(pack(about, dict(load_decoder().weights)))
    assert is_decoder(path)
    with pytest.raises(InputError, match="not a decoder"):
        load_decoder(path)


LEAVES = st.none() | st.booleans() | st.integers(-9, 10**20) | st.floats() | st.text(max_size=3)
JSON = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=5,
)


@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_no_value_in_a_header_is_more_than_one_line(data, tmp_path_factory):
    """Any value of the header, or all of it, is replaced by any JSON value."""
    path = tmp_path_factory.getbasetemp() / "fuzzed.safetensors"
    write(path)
    header, body = parts_of(path)
    about = json.loads(header["__metadata__"]["dnatrace"])
    held = data.draw(st.sampled_from([header, header["grid"], header["__metadata__"], about]))
    key = data.draw(st.sampled_from(sorted(held)))
    held[key] = data.draw(JSON)
    if held is about:
        header["__metadata__"]["dnatrace"] = json.dumps(about)
    put(path, header, body)
    with contextlib.suppress(InputError):  # any other exception is the failure
        assert read_model(path).certificate


# Secure noise.
