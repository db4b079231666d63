"""The number of values in a Parquet file, read from its footer without pyarrow.

pyarrow ends the whole process, not only the call, if it is asked for the metadata of a column that is damaged. The
footer is a struct of Thrift's compact protocol: FileMetaData.row_groups (4), RowGroup.columns (1),
ColumnChunk.meta_data (3), ColumnMetaData.num_values (5).
"""

from __future__ import annotations

import os
from typing import IO, Any

TRUE, FALSE, DOUBLE, BINARY, LIST, SET, MAP, STRUCT = 1, 2, 7, 8, 9, 10, 11, 12  # others are integers
BYTE = 3


def count_values(file: IO[bytes]) -> int:
    """Return the number of values of all columns, those in lists counted one by one."""
    file.seek(-8, os.SEEK_END)
    size = int.from_bytes(file.read(4), "little")
    file.seek(-8 - size, os.SEEK_END)
    footer = _Reader(file.read(size)).struct()
    file.seek(0)
    return sum(chunk[3][5] for group in footer.get(4, ()) for chunk in group[1])


class _Reader:
    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def byte(self) -> int:
        self.at += 1
        return self.data[self.at - 1]

    def varint(self) -> int:
        found = shift = 0
        while (byte := self.byte()) & 0x80:
            found, shift = found | (byte & 0x7F) << shift, shift + 7
        return found | byte << shift

    def integer(self) -> int:
        n = self.varint()
        return (n >> 1) ^ -(n & 1)

    def struct(self) -> dict[int, Any]:
        """Return the fields of a struct by their numbers."""
        fields, number = dict[int, Any](), 0
        while head := self.byte():
            number = number + (head >> 4) if head >> 4 else self.integer()
            kind = head & 15
            fields[number] = kind == TRUE if kind in (TRUE, FALSE) else self.value(kind)
        return fields

    def value(self, kind: int) -> Any:
        if kind == STRUCT:
            return self.struct()
        if kind in (LIST, SET):
            head = self.byte()
            count = self.varint() if head >> 4 == 15 else head >> 4
            return [self.value(head & 15) for _ in range(count)]
        if kind == MAP:
            count = self.varint()
            kinds = self.byte() if count else 0
            return [(self.value(kinds >> 4), self.value(kinds & 15)) for _ in range(count)]
        if kind in (BINARY, DOUBLE):
            size = self.varint() if kind == BINARY else 8
            self.at += size
            return None
        return self.byte() if kind in (TRUE, FALSE, BYTE) else self.integer()
