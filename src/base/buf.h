/* SPDX-License-Identifier: Apache-2.0
 * A text builder that is born with a maximum. Failure (too long, out of memory) is sticky and checked once, at the end.
 */
#pragma once

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/error.h"
#include "base/str.h"

struct buf {
    char *at; /* NUL-terminated after the first write */
    size_t len;
    size_t capacity; /* includes the terminating NUL; at most max + 1 */
    size_t max;
    bool failed;
    bool no_memory; /* the reason for failed */
};

#define BUF(maximum) ((struct buf){.max = (maximum)})

void buf_done(struct buf *b);
#define AUTO_BUF __attribute__((cleanup(buf_done)))

bool buf_grow(struct buf *b, size_t more);

/* Reserve space for `more` bytes, so that adding them can't fail. The fast path is inline: texts consist of many short pieces. */
static inline bool buf_reserve(struct buf *b, size_t more)
{
    return (!b->failed && more < b->capacity - b->len) || buf_grow(b, more);
}

static inline void buf_add(struct buf *b, const char *bytes, size_t len)
{
    if (!buf_reserve(b, len))
        return;
    if (len)
        memcpy(b->at + b->len, bytes, len);
    b->len += len;
    b->at[b->len] = '\0';
}

static inline void buf_str(struct buf *b, struct str s)
{
    buf_add(b, s.at, s.len);
}

static inline void buf_text(struct buf *b, const char *text)
{
    buf_add(b, text, strlen(text));
}

static inline void buf_char(struct buf *b, char c)
{
    buf_add(b, &c, 1);
}

void buf_printf(struct buf *b, const char *format, ...) __attribute__((format(gnu_printf, 2, 3)));
/* Percent-encode for a URL: all but letters, digits and -._~. */
void buf_percent(struct buf *b, const char *text);
/* One CSV cell (RFC 4180). `text` marks untrusted input: a spreadsheet would run a cell that begins with = + - @ as a formula,
 * so it gets a leading ' unless it is a number. */
void buf_csv(struct buf *b, struct str cell, bool text);
/* Escape &, < and > for Pango, Slack and the like. */
void buf_markup(struct buf *b, struct str text);
void buf_vprintf(struct buf *b, const char *format, va_list args) __attribute__((format(gnu_printf, 2, 0)));

/* 0, or the failure: -ENOMEM "out of memory", or -EFBIG with this message. */
int buf_check(const struct buf *b, struct error *err, const char *too_long, ...) __attribute__((format(gnu_printf, 3, 4)));

static inline struct str buf_view(const struct buf *b)
{
    return (struct str){b->at ? b->at : "", b->len};
}

/* Returns the text as a heap string (the caller frees it), or NULL if any write failed. Leaves the buffer empty. */
char *buf_take(struct buf *b);
