"""The opcodes of pickle that are never executed, and what to say of them."""

from __future__ import annotations

from ...errors import DsError, FormatError, UnsafeError

RUN_CODE = {
    0x63: "GLOBAL",
    0x69: "INST",
    0x6F: "OBJ",
    0x50: "PERSID",
    0x51: "BINPERSID",
    0x82: "EXT1",
    0x83: "EXT2",
    0x84: "EXT4",
    0x92: "NEWOBJ_EX",
}
"""They import, or call, what the file names; writers of protocol 4 and later use STACK_GLOBAL, REDUCE and NEWOBJ."""
OLD = {
    0x46: "FLOAT",
    0x49: "INT",
    0x4C: "LONG",
    0x53: "STRING",
    0x54: "BINSTRING",
    0x55: "SHORT_BINSTRING",
    0x56: "UNICODE",
    0x64: "DICT",
    0x67: "GET",
    0x6C: "LIST",
    0x70: "PUT",
}
"""They belong to protocols 0 and 1."""
ADVICE = "; load it with trusted=True if you trust who wrote the file"


def unknown(op: int) -> DsError:
    """Return the error for an opcode that the machine does not have.

    Parameters
    ----------
    op : int
        The byte.
    """
    if op in RUN_CODE:
        return UnsafeError(f"found the opcode {RUN_CODE[op]}, which runs code that the file names{ADVICE}")
    if op in OLD:
        return UnsafeError(f"found the opcode {OLD[op]} of pickle protocol 0 or 1, which no writer uses{ADVICE}")
    return FormatError(f"found the byte {op:#04x}, which is no opcode")
