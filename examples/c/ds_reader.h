/* SPDX-License-Identifier: MIT */
/* A reader of ds files, for variables of numbers without missing values. docs/format.md of ds_format specifies the format.

   Both functions return NULL, or the reason why the variable cannot be read. */

#ifndef DS_READER_H
#define DS_READER_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define DS_MAX_RANK 64

struct ds_variable {
    const char *type;            /* int8, int16, int32, int64, uint8, ..., uint64, float32 or float64 */
    size_t item_size;            /* bytes of one value */
    int rank;                    /* number of dimensions; 0 for a scalar */
    uint64_t shape[DS_MAX_RANK];
    size_t count;                /* number of values, so that all take item_size * count bytes */
    long start;                  /* of the first value, in bytes from the start of the file */
    int is_big_endian;
};

/* Find a variable. `file` is open in binary mode; `name` consists of ASCII characters except quotes and backslashes. */
const char *ds_find(FILE *file, const char *name, struct ds_variable *variable);

/* Read all values in C order, in the byte order of this machine. There must be space for item_size * count bytes. */
const char *ds_read(FILE *file, const struct ds_variable *variable, void *values);

#endif
