/* SPDX-License-Identifier: Apache-2.0
 * CPython's three formats of line tables.
 */
#include "host/frames/python.h"

/* Pairs of bytes and signed lines; large steps are split. */
static int32_t line_of_3_8(const uint8_t *t, size_t size, int32_t line, int64_t at)
{
    int64_t reached = 0;
    for (size_t i = 0; i + 1 < size; i += 2) {
        reached += t[i];
        if (reached > at)
            break;
        line = (int32_t)((uint32_t)line + (uint32_t)(int8_t)t[i + 1]);
    }
    return line;
}

static int32_t line_of_3_10(const uint8_t *t, size_t size, int32_t line, int64_t at)
{
    int64_t end = 0;
    for (size_t i = 0; i + 1 < size; i += 2) {
        int8_t step = (int8_t)t[i + 1];
        end += t[i];
        if (step != -128)
            line = (int32_t)((uint32_t)line + (uint32_t)step);
        if (at < end)
            return step == -128 ? 0 : line;
    }
    return 0;
}

/* A signed number in groups of 6 bits, the lowest first; its sign is the lowest bit. */
static int32_t signed_varint(const uint8_t *t, size_t size, size_t i)
{
    uint32_t value = 0;
    for (unsigned shift = 0; i < size && shift < 30; i++, shift += 6) {
        value |= (uint32_t)(t[i] & 63) << shift;
        if (!(t[i] & 64))
            break;
    }
    return value & 1 ? -(int32_t)(value >> 1) : (int32_t)(value >> 1);
}

/* Entries that begin with a byte 1kkkklll: the kind and how many code units of two bytes, less one. */
static int32_t line_of_3_11(const uint8_t *t, size_t size, int32_t line, int64_t at)
{
    enum { SHORT_LAST = 9, ONE_LINE = 10, ONE_LINE_LAST = 12, NO_COLUMNS = 13, LONG = 14, NONE = 15 };
    int64_t end = 0;
    for (size_t i = 0; i < size;) {
        unsigned kind = t[i] >> 3 & 15;
        int32_t step = 0;
        end += 2 * ((t[i] & 7) + 1);
        if (kind >= ONE_LINE && kind <= ONE_LINE_LAST)
            step = (int32_t)kind - ONE_LINE;
        else if (kind == NO_COLUMNS || kind == LONG)
            step = signed_varint(t, size, i + 1);
        line = (int32_t)((uint32_t)line + (uint32_t)step);
        if (at < end)
            return kind == NONE ? 0 : line;
        do
            i++;
        while (i < size && !(t[i] & 128));
    }
    return 0;
}

int32_t python_line(int minor, const uint8_t *table, size_t size, int32_t first, int64_t at)
{
    at = at < 0 ? 0 : at; /* a frame that has just begun */
    int32_t line = minor >= 11   ? line_of_3_11(table, size, first, at)
                   : minor == 10 ? line_of_3_10(table, size, first, at)
                                 : line_of_3_8(table, size, first, at);
    return line > 0 ? line : 0;
}
