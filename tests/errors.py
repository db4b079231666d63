"""Assertions on the fields of errors and warnings, so that their wording can change."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from dalembert.errors import ARGUMENT, DalembertError, DalembertWarning


@contextmanager
def raises(kind: type[BaseException] | tuple[type[BaseException], ...], fields: str) -> Iterator[pytest.ExceptionInfo]:
    """Expect an error of this kind and with these fields: its code, and after a blank its argument, "wrong-shape q"."""
    with pytest.raises(kind) as caught:
        yield caught
    code, _, argument = fields.partition(" ")
    assert fields_of(caught.value) == (fields if ARGUMENT.fullmatch(argument) else code), str(caught.value)


@contextmanager
def warns(kind: type[Warning], *codes: str) -> Iterator[pytest.WarningsRecorder]:
    """Expect warnings of this kind and with each of these codes."""
    with pytest.warns(kind) as caught:
        yield caught
    found = {w.message.code for w in caught if isinstance(w.message, DalembertWarning)}
    assert set(codes) <= found, found


def fields_of(error: BaseException) -> str:
    """Return code and argument of an error, "wrong-shape q"; of an argument that is prose, the code alone."""
    if not isinstance(error, DalembertError):
        return type(error).__name__
    argument = error.argument or ""
    return f"{error.code} {argument.partition('[')[0] if ARGUMENT.fullmatch(argument) else ''}".strip()
