"""Which columns of the rows that come in are read, and which of them as texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from psvm.persistence.errors import UnsupportedModelError
from psvm.persistence.operations import Branches, Operation, Origin


@dataclass
class ColumnKinds:
    """Columns read as texts and as numbers, found by following them through the operations."""

    texts: set[int] = field(default_factory=set)
    numbers: set[int] = field(default_factory=set)

    def follow(self, operations: Sequence[Operation], columns: list[Origin]) -> list[Origin]:
        """Note what operations read, and return which input columns come out as they went in."""
        for operation in operations:
            if isinstance(operation, Branches):
                columns = [
                    origin
                    for chosen, inside in zip(operation.columns, operation.operations, strict=True)
                    for origin in self.follow(inside, [columns[j] for j in chosen])
                ]
                continue
            self._read(columns, operation.of_texts)
            columns = operation.origins(columns)
        return columns

    def end(self, columns: list[Origin]) -> None:
        """Note what the classifier reads: numbers."""
        self._read(columns, of_texts=False)

    def _read(self, columns: list[Origin], of_texts: bool) -> None:
        found = {origin for origin in columns if origin is not None}
        (self.texts if of_texts else self.numbers).update(found)
        if (of_texts and None in columns) or self.texts & self.numbers:
            raise UnsupportedModelError(
                "A column is read both as texts and as numbers; use one encoder for each kind."
            )
