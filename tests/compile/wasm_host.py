"""Runs the functions of a WebAssembly module, as `assets/wasm.js` does in a browser."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dalembert.compile.wasm import WasmModule


class Host:
    """A module in wasmtime."""

    def __init__(self, module: WasmModule) -> None:
        import wasmtime

        self.store = wasmtime.Store()
        self.instance = wasmtime.Instance(self.store, wasmtime.Module(self.store.engine, module.data), [])
        self.exports = self.instance.exports(self.store)
        self.signatures = module.signatures

    def call(self, name: str, inputs: Sequence[np.ndarray], cores: Sequence[int], outputs: Sequence[tuple[int, ...]]):
        """The results of `count` states; `cores` says how many dimensions of each input are its own."""
        memory, base = self.exports["memory"], self.exports["base"].value(self.store)
        count = max((len(a) for a, core in zip(inputs, cores, strict=True) if a.ndim > core), default=1)
        arrays = [np.ascontiguousarray(a, float) for a in inputs] + [np.full((count, *s), 7.0) for s in outputs]
        cores = [*cores, *map(len, outputs)]
        over = [a.strides[0] if a.ndim > core else 0 for a, core in zip(arrays, cores, strict=True)]
        own = [s for a, core in zip(arrays, cores, strict=True) for s in a.strides[a.ndim - core :]]
        words = 2 * len(arrays) + 1 + len(own)
        places = base + 8 * words + np.cumsum([0, *(a.nbytes for a in arrays)])
        missing = int(places[-1]) - memory.data_len(self.store)
        if missing > 0:
            memory.grow(self.store, -(-missing // 65536))
        table = np.array([*places[:-1], count, *over, *own], np.int64)
        for data, at in ((table, base), *zip(arrays, places[:-1], strict=True)):
            memory.write(self.store, data.tobytes(), int(at))
        dims = base + 8 * len(arrays)
        self.exports[name](self.store, base, dims, dims + 8, 0)
        found = []
        for a, at in zip(arrays[len(inputs) :], places[len(inputs) : -1], strict=True):
            found.append(np.frombuffer(bytes(memory.read(self.store, int(at), int(at) + a.nbytes))).reshape(a.shape))
        return found

    def kernel(self, name: str, *arguments: np.ndarray) -> Any:
        s = self.signatures[name]
        return self.call(name, arguments, [len(shape) for shape in s["inputs"]], s["outputs"])

    def rollout(self, name: str, x: np.ndarray, u: np.ndarray, p: np.ndarray, steps: int, dt: float, every: int = 1):
        """(kept x, kept y, last x, last y, diverged) of x0 (…, n), u (steps, m) and p (l,)."""
        s, kept = self.signatures[name], -(-steps // every)
        given = [x, u, p, np.array([0.0, dt]), np.array([0.0, steps, every])]
        return self.call(name, given, [1, 2, 1, 1, 1], [(kept, s["x"]), (kept, s["y"]), (s["x"],), (s["y"],), ()])

    def search(self, name: str, state: np.ndarray, data: np.ndarray, starts: np.ndarray, settings: np.ndarray):
        return self.call(name, [state, data, starts, settings], [1, 1, 2, 1], [(self.signatures[name]["state"],), (3,)])
