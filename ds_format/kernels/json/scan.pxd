"""State and result of the loop over JSON text, for the kernels that use it."""

from libc.stdint cimport uint8_t, uint32_t, uint64_t

cdef extern from *:
    """
    #ifndef DS_JSON_SCAN
    #define DS_JSON_SCAN
    #include <stdint.h>
    #include <string.h>

    typedef struct {
        const uint8_t *p, *end;  /* the next byte, and the end of the text */
        const uint8_t *block;    /* the 64 bytes to which `marks` belong */
        uint64_t marks;          /* marks that were not taken yet */
        int high, block_high;    /* whether bytes of this line, or of this block, are not ASCII */
    } ds_scan;

    typedef struct {
        int status;              /* 0, or the number of a fault */
        uint32_t flags;
        Py_ssize_t error;        /* position of the fault; this and all below in bytes from the start of the line */
        Py_ssize_t id_start, id_size;  /* the value of _id, without quotes */
        Py_ssize_t size;         /* size of the line, without the line feed */
    } ds_checked;

    enum {
        DS_VALID, DS_BLANK, DS_NOT_OBJECT, DS_CUT, DS_KEY, DS_COLON, DS_VALUE, DS_COMMA, DS_NUMBER, DS_WORD, DS_CONTROL,
        DS_ESCAPE, DS_SURROGATE, DS_UTF8, DS_DEPTH, DS_BEHIND, DS_BOM
    };
    enum { DS_ID_FOUND = 1, DS_ID_STRING = 2, DS_ID_ESCAPED = 4, DS_ID_TWICE = 8, DS_NUMBER_RANGE = 16, DS_CR = 32 };
    enum { DS_MAX_DEPTH = 512 };
    #endif
    """
    ctypedef struct Scan "ds_scan":
        const uint8_t* p
        const uint8_t* end
        int high
        int block_high
    ctypedef struct Checked "ds_checked":
        int status
        uint32_t flags
        Py_ssize_t error
        Py_ssize_t id_start
        Py_ssize_t id_size
        Py_ssize_t size
    cdef enum:
        VALID "DS_VALID"
        BLANK "DS_BLANK"
        CUT "DS_CUT"
        UTF8 "DS_UTF8"
        BOM "DS_BOM"
        BEHIND "DS_BEHIND"
        ID_FOUND "DS_ID_FOUND"
        ID_STRING "DS_ID_STRING"
        ID_ESCAPED "DS_ID_ESCAPED"
        ID_TWICE "DS_ID_TWICE"
        NUMBER_RANGE "DS_NUMBER_RANGE"
        CR "DS_CR"
        MAX_DEPTH "DS_MAX_DEPTH"
