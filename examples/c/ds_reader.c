/* SPDX-License-Identifier: MIT */
#include "ds_reader.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define MAX_HEADER_SIZE ((size_t)1 << 28)
#define MAX_DEPTH 100
#define N_TYPES (sizeof TYPES / sizeof TYPES[0])

static const struct {
    const char *name, *kind; /* of ds-1.0, and of the layout 2.0.1, which has the number of bits in `.dsize` */
    size_t size;
} TYPES[] = {
    {"int8", "int", 1},    {"int16", "int", 2},   {"int32", "int", 4},   {"int64", "int", 8},     {"uint8", "uint", 1},
    {"uint16", "uint", 2}, {"uint32", "uint", 4}, {"uint64", "uint", 8}, {"float32", "float", 4}, {"float64", "float", 8},
};

/* A scan of JSON in a buffer that ends with NUL, which is nowhere in JSON. `skip` functions return the position after what
   they skip, or NULL if that is not JSON. They do not check how numbers and words are written. */

static const char *skip_space(const char *p)
{
    return p + strspn(p, " \t\r");
}

static const char *skip_string(const char *p)
{
    if (*p != '"') return NULL;
    for (p++; *p != '"'; p++)
        if (*p == '\0' || (*p == '\\' && *++p == '\0')) return NULL;
    return p + 1;
}

/* Return whether a value is the string `text`, which has no quotes and backslashes. */
static int is_string(const char *p, const char *text)
{
    size_t size = strlen(text);
    return *p == '"' && !strncmp(p + 1, text, size) && p[size + 1] == '"';
}

/* Skip a value. If it is an object that has `key`, set `found` to the position of the value of this key. */
static const char *skip_value(const char *p, const char *key, const char **found, int depth)
{
    const char *start = p, *escape, close = *p == '{' ? '}' : ']';
    if (*p == '"') return skip_string(p);
    if (*p != '{' && *p != '[') {
        while (isalnum((unsigned char)*p) || *p == '+' || *p == '-' || *p == '.') p++;
        return p > start ? p : NULL;
    }
    if (depth == MAX_DEPTH) return NULL;
    p = skip_space(p + 1);
    if (*p == close) return p + 1;
    for (;; p = skip_space(p + 1)) {
        if (close == '}') {
            start = p;
            if (!(p = skip_string(p))) return NULL;
            for (escape = start; key && escape < p; escape++) /* of ASCII, which `is_string` would miss */
                if (!strncmp(escape, "\\u00", 4)) return NULL;
            if (*(p = skip_space(p)) != ':') return NULL;
            p = skip_space(p + 1);
            if (key && is_string(start, key)) {
                if (*found) return NULL; /* twice */
                *found = p;
            }
        }
        if (!(p = skip_value(p, NULL, NULL, depth + 1))) return NULL;
        p = skip_space(p);
        if (*p == close) return p + 1;
        if (*p != ',') return NULL;
    }
}

/* Read an integer of 0 or more, and return the position after it, or NULL. */
static const char *read_count(const char *p, uint64_t *value)
{
    const char *start = p;
    for (*value = 0; isdigit((unsigned char)*p); p++) {
        unsigned digit = *p - '0';
        if (*value > (UINT64_MAX - digit) / 10) return NULL;
        *value = 10 * *value + digit;
    }
    return p == start || isalpha((unsigned char)*p) || *p == '.' ? NULL : p;
}

/* Read up to a line feed or the end of the file. Return the bytes with a NUL, or NULL if they are too many. */
static char *read_line(FILE *file)
{
    char *line = NULL, *larger;
    size_t size = 0, capacity = 0;
    for (;;) {
        int c = getc(file);
        if (size == capacity) {
            capacity = capacity ? 2 * capacity : 4096;
            larger = capacity <= MAX_HEADER_SIZE ? realloc(line, capacity) : NULL;
            if (!larger) {
                free(line);
                return NULL;
            }
            line = larger;
        }
        line[size++] = c == EOF || c == '\n' ? '\0' : (char)c;
        if (c == EOF || c == '\n') return line;
    }
}

static const char *describe(const char *entry, int is_old, uint64_t body, uint64_t end, struct ds_variable *variable)
{
    static const char *const KEYS[] = {".type", ".dsize", ".size", ".offset", ".endian", ".missing"};
    const char *values[6] = {NULL}, *type = "\"float64\"", *p;
    uint64_t count = 1, start = 0, bits = 0, one = 0;
    size_t i;
    for (i = 0; i < 6; i++)
        if (!skip_value(entry, KEYS[i], &values[i], 0)) return "its properties are not valid";
    if (values[0]) type = values[0];
    if (values[1] && !read_count(values[1], &bits)) return ".dsize: expected a number of bits";
    if (values[2] && *values[2] == 'n') return ".size: found null, because the variable has no data";
    for (i = 0; i < N_TYPES; i++)
        if (is_old ? is_string(type, TYPES[i].kind) && bits == 8 * TYPES[i].size : is_string(type, TYPES[i].name)) break;
    if (i == N_TYPES) return ".type: expected int8 to uint64, float32 or float64; others are not supported";
    variable->type = TYPES[i].name;
    variable->item_size = TYPES[i].size;
    if (values[3] && !read_count(values[3], &start)) return ".offset: expected an integer of 0 or more";
    if (values[4] && !is_string(values[4], "l") && !is_string(values[4], "b")) return ".endian: expected \"b\" or \"l\"";
    variable->is_big_endian = !values[4] || is_string(values[4], "b");
    if (values[5] && *values[5] != 'f') return ".missing: variables with missing values are not supported";
    variable->rank = 0;
    p = values[2];
    if (p && *p != '[' && !(is_old && read_count(p, &one) && one == 1)) return ".size: expected a list of integers";
    if (p && *p == '[') {
        for (p = skip_space(p + 1); *p != ']'; p = skip_space(p + (*p == ','))) {
            uint64_t *size = &variable->shape[variable->rank];
            if (variable->rank++ == DS_MAX_RANK) return ".size: expected at most 64 dimensions";
            if (!(p = read_count(p, size))) return ".size: expected integers of 0 or more";
            if (*size && count > UINT64_MAX / *size) return ".size: the values go beyond the end of the file";
            count *= *size;
            p = skip_space(p);
        }
    }
    if (count && (start > end - body || count > (end - body - start) / variable->item_size))
        return ".size: the values go beyond the end of the file";
    variable->count = count;
    variable->start = count ? body + start : body;
    return NULL;
}

const char *ds_find(FILE *file, const char *name, struct ds_variable *variable)
{
    const char *message = "not a ds file, or its header is not valid", *entry = NULL, *p;
    long end = fseek(file, 0, SEEK_END) ? -1 : ftell(file), body;
    if (end < 0 || fseek(file, 0, SEEK_SET)) return "the size of the file is not known";
    if (*name == '.' || strpbrk(name, "\"\\")) return "names with a first dot, quotes or backslashes are not supported";
    char *header = read_line(file);
    int is_old = header && *header == '{';
    if (header && !strcmp(header, "ds-1.0")) {
        free(header);
        header = read_line(file);
    }
    body = ftell(file);
    p = header && *header == '{' && body >= 0 && body <= end ? skip_value(header, name, &entry, 0) : NULL;
    if (p && *skip_space(p) == '\0') {
        if (!entry) message = "not found";
        else if (*entry != '{') message = "its entry in the header is not an object";
        else message = describe(entry, is_old, body, end, variable);
    }
    free(header);
    return message;
}

const char *ds_read(FILE *file, const struct ds_variable *variable, void *values)
{
    const uint16_t one = 1;
    int is_machine_big = *(const unsigned char *)&one == 0;
    size_t size = variable->item_size;
    unsigned char *item = values;
    if (fseek(file, variable->start, SEEK_SET) || fread(values, size, variable->count, file) != variable->count)
        return "the file was truncated, or cannot be read";
    for (size_t i = 0; is_machine_big != variable->is_big_endian && i < variable->count; i++, item += size)
        for (size_t a = 0, b = size - 1; a < b; a++, b--) {
            unsigned char byte = item[a];
            item[a] = item[b];
            item[b] = byte;
        }
    return NULL;
}
