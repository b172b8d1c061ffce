/* SPDX-License-Identifier: MIT */
/* `print_variable NAME FILE...` prints type, shape and values of a variable: one line for each file. */

#include "ds_reader.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define PRINT(name, c_type, format) \
    if (!strcmp(variable->type, name)) printf(" %" format, ((const c_type *)values)[i])

static void print(const struct ds_variable *variable, const void *values)
{
    printf("%s [", variable->type);
    for (int axis = 0; axis < variable->rank; axis++) printf("%s%" PRIu64, axis ? ", " : "", variable->shape[axis]);
    printf("]");
    for (size_t i = 0; i < variable->count; i++) {
        PRINT("int8", int8_t, PRId8);
        PRINT("int16", int16_t, PRId16);
        PRINT("int32", int32_t, PRId32);
        PRINT("int64", int64_t, PRId64);
        PRINT("uint8", uint8_t, PRIu8);
        PRINT("uint16", uint16_t, PRIu16);
        PRINT("uint32", uint32_t, PRIu32);
        PRINT("uint64", uint64_t, PRIu64);
        PRINT("float32", float, ".9g");
        PRINT("float64", double, ".17g");
    }
    printf("\n");
}

int main(int n_arguments, char **arguments)
{
    int status = EXIT_SUCCESS;
    for (int i = 2; i < n_arguments; i++) {
        struct ds_variable variable;
        void *values = NULL;
        FILE *file = fopen(arguments[i], "rb");
        const char *message = file ? ds_find(file, arguments[1], &variable) : "cannot be opened";
        if (!message) {
            values = malloc(variable.count * variable.item_size + 1);
            message = values ? ds_read(file, &variable, values) : "there is not enough memory";
        }
        printf("%s: ", arguments[i]);
        if (!message) {
            print(&variable, values);
        } else {
            printf("variable \"%s\": %s\n", arguments[1], message);
            status = EXIT_FAILURE;
        }
        free(values);
        if (file) fclose(file);
    }
    return status;
}
