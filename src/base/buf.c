/* SPDX-License-Identifier: Apache-2.0
 * The bounded text builder.
 */
#include "base/buf.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

void buf_done(struct buf *b)
{
    free(b->at);
    *b = (struct buf){.max = b->max};
}

bool buf_grow(struct buf *b, size_t more)
{
    if (b->failed)
        return false;
    if (more > b->max || b->len > b->max - more) {
        b->failed = true;
        return false;
    }
    size_t need = b->len + more + 1;
    if (need <= b->capacity)
        return true;
    size_t capacity = MIN_OF(MAX_OF(need, MAX_OF((size_t)256, b->capacity * 2)), b->max + 1);
    char *at = realloc(b->at, capacity);
    if (!at) {
        b->failed = b->no_memory = true;
        return false;
    }
    b->at = at;
    b->capacity = capacity;
    return true;
}

/* Print into the free space first; reserve and print again only if it didn't fit. */
void buf_vprintf(struct buf *b, const char *format, va_list args)
{
    size_t room = b->failed ? 0 : b->capacity - b->len;
    va_list again;
    va_copy(again, args);
    int need = vsnprintf(room ? b->at + b->len : NULL, room, format, args);
    if (need < 0)
        b->failed = true;
    else if ((size_t)need < room)
        b->len += (size_t)need;
    else if (buf_reserve(b, (size_t)need)) {
        vsnprintf(b->at + b->len, (size_t)need + 1, format, again);
        b->len += (size_t)need;
    }
    if (b->failed && b->at)
        b->at[b->len] = '\0';
    va_end(again);
}

void buf_printf(struct buf *b, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    buf_vprintf(b, format, args);
    va_end(args);
}

int buf_check(const struct buf *b, struct error *err, const char *too_long, ...)
{
    char words[sizeof err->text];
    if (!b->failed)
        return 0;
    if (b->no_memory)
        return error_set(err, -ENOMEM, "out of memory");
    va_list args;
    va_start(args, too_long);
    vsnprintf(words, sizeof words, too_long, args);
    va_end(args);
    return error_set(err, -EFBIG, "%s", words);
}

char *buf_take(struct buf *b)
{
    if (!b->failed && !b->at)
        buf_add(b, "", 0);
    if (b->failed) {
        buf_done(b);
        return NULL;
    }
    char *text = TAKE(b->at);
    *b = (struct buf){.max = b->max};
    return text;
}

void buf_percent(struct buf *b, const char *text)
{
    for (const unsigned char *c = (const unsigned char *)text; *c; c++)
        if ((*c >= '0' && *c <= '9') || (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || strchr("-._~", *c))
            buf_char(b, (char)*c);
        else
            buf_printf(b, "%%%02X", *c);
}

void buf_csv(struct buf *b, struct str cell, bool text)
{
    double number;
    bool formula = text && cell.len && strchr("=+-@\t\r", cell.at[0]) && !str_to_double(cell, &number);
    bool quote = false;
    for (size_t i = 0; i < cell.len && !quote; i++)
        quote = cell.at[i] && strchr(",\"\r\n\t", cell.at[i]);
    buf_text(b, quote ? "\"" : "");
    buf_text(b, formula ? "'" : "");
    for (size_t i = 0; i < cell.len; i++) {
        if (cell.at[i] == '"')
            buf_char(b, '"');
        buf_char(b, cell.at[i]);
    }
    buf_text(b, quote ? "\"" : "");
}

void buf_markup(struct buf *b, struct str text)
{
    for (size_t i = 0; i < text.len; i++)
        switch (text.at[i]) {
        case '&': buf_text(b, "&amp;"); break;
        case '<': buf_text(b, "&lt;"); break;
        case '>': buf_text(b, "&gt;"); break;
        default: buf_char(b, text.at[i]);
        }
}
