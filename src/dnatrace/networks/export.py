"""Models as ONNX: from shares of messages and public facts to G.

Inputs are `shares` float32 [n, 14 × levels], each person's share of messages by age and level (rows
of people without messages are 0), and, for `tight`, `facts` float32 [n, 52], the public inputs
(`training.scores.public_inputs`). The output is `G` float32 [n]. The part before the mean is the
model's table, a constant of the graph; there is no dropout and no other node that could be random.
It is in single precision: for use outside the enclave's noise path, which needs float64.
"""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from dnatrace._version import __version__
from dnatrace.files import replacing
from dnatrace.networks.architecture import N_PUBLIC_INPUTS, WINDOW, Kind
from dnatrace.networks.runtime import Model

_OPSET = 17
_IR = 9
# What the file says about its inputs and output; docs/network.md has the whole of it.
_SHARES = (
    "Each person's share of messages: column age * {levels} + level, age in days before the "
    "release (0 to 13), level the nearest of {levels} values from 0 to {gamma:g}; rows sum to 1, "
    "or are 0 without messages"
)
_FACTS = (
    "By age 0 to 13: own test positive (1 or 0), own test negative (1 or 0), 0.25 * log(1 + "
    "contacts); then decade of age (9 columns, one is 1 or none), 0.25 * log(1 + all contacts)"
)
_G = "The network's part of the score: F + p1 * G, not yet private"


def write_onnx(model: Model, path: Path) -> None:
    """Write a model as ONNX, whole or not at all; the same model gives the same bytes."""
    with replacing(path) as temporary:
        temporary.write_bytes(as_onnx(model).SerializeToString(deterministic=True))


def as_onnx(model: Model) -> Any:
    """Return a model as an ONNX graph that agrees with `PublicView.scores` to about 1e-6."""
    tight = model.architecture.kind is Kind.TIGHT
    graph = _Graph()
    mean = graph.add("MatMul", "shares", graph.constant("table", model.table))
    out = _tight(graph, model, mean) if tight else _paper(graph, model, mean)
    graph.nodes.append(helper.make_node("Squeeze", [out, graph.axis], ["G"]))
    levels = model.grid.size
    shares = _SHARES.format(levels=levels, gamma=model.gamma)
    inputs = [_tensor("shares", WINDOW * levels, shares)]
    inputs += [_tensor("facts", N_PUBLIC_INPUTS, _FACTS)] if tight else []
    made = helper.make_graph(
        graph.nodes,
        "dnatrace",
        inputs,
        [helper.make_tensor_value_info("G", TensorProto.FLOAT, ["n"], doc_string=_G)],
        initializer=graph.constants,
    )
    opset = helper.make_opsetid("", _OPSET)
    whole = helper.make_model(
        made, opset_imports=[opset], producer_name="dnatrace", producer_version=__version__
    )
    whole.ir_version = _IR
    entry = whole.metadata_props.add()
    entry.key, entry.value = "weight_digest", model.certificate.digest
    onnx.checker.check_model(whole)
    return whole


def _tensor(name: str, width: int, meaning: str) -> Any:
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", width], doc_string=meaning)


class _Graph:
    """Nodes and constants under construction."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.axis = "last_axis"
        self.constants.append(numpy_helper.from_array(np.array([1]), self.axis))

    def constant(self, name: str, value: Any) -> str:
        array = np.ascontiguousarray(value, dtype=np.float32)
        self.constants.append(numpy_helper.from_array(array, name))
        return name

    def add(self, kind: str, *inputs: str, **attributes: Any) -> str:
        out = f"{kind}{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(inputs), [out], **attributes))
        return out

    def linear(self, name: str, x: str, weight: Any, bias: Any = None) -> str:
        out = self.add("MatMul", x, self.constant(f"{name}.weight", np.asarray(weight).T))
        return out if bias is None else self.add("Add", out, self.constant(f"{name}.bias", bias))

    def columns(self, x: str, start: int, stop: int) -> str:
        limits = []
        for value in (start, stop, 1):
            name = f"limit{len(self.constants)}"
            self.constants.append(numpy_helper.from_array(np.array([value]), name))
            limits.append(name)
        return self.add("Slice", x, *limits)

    def maxmin(self, x: str, width: int) -> str:
        """Sort neighbouring pairs: max and min of even and odd columns, interleaved again."""
        even, odd = np.eye(width)[0::2], np.eye(width)[1::2]
        n = len(self.nodes)
        a, b = self.linear(f"even{n}", x, even), self.linear(f"odd{n}", x, odd)
        high, low = self.add("Max", a, b), self.add("Min", a, b)
        both = self.linear(f"high{n}", high, even.T), self.linear(f"low{n}", low, odd.T)
        return self.add("Add", *both)


def _paper(graph: _Graph, model: Model, mean: str) -> str:
    w, depth = model.weights, model.architecture.depth
    h = graph.add("Add", mean, graph.constant("g2.0.bias", w["g2.0.bias"]))
    for i in range(1, depth):
        h = graph.add("Relu", h)
        h = graph.linear(f"g2.{i}", h, w[f"g2.{i}.weight"], w[f"g2.{i}.bias"])
    return h


def _tight(graph: _Graph, model: Model, mean: str) -> str:
    a, w = model.architecture, model.weights
    h = "facts"
    for name in ("context.0", "context.1"):
        h = graph.add("Relu", graph.linear(name, h, w[f"{name}.weight"], w[f"{name}.bias"]))
    heads = graph.linear("head", h, w["head.weight"], w["head.bias"])
    k = a.pooled
    gate = graph.add("Softsign", graph.columns(heads, 0, k))
    shifts = graph.columns(heads, k, 2 * k), graph.columns(heads, 2 * k, 3 * k)
    z = graph.add("Add", graph.add("Mul", gate, mean), shifts[0])
    y = graph.linear("pool.1", graph.maxmin(z, k), w["pool.1.weight"])
    y = graph.add("Add", y, shifts[1])
    out = graph.linear("pool.2", graph.maxmin(y, k), w["pool.2.weight"])
    last = graph.add("Softsign", graph.columns(heads, 3 * k, 3 * k + 1))
    scale = graph.constant("gamma", [a.gamma])
    moved = graph.add("Mul", graph.add("Mul", last, out), scale)
    offset = graph.columns(heads, 3 * k + 1, 3 * k + 2)
    free = graph.add("Mul", offset, graph.constant("public_scale", [a.public_scale]))
    return graph.add("Add", moved, free)
