/* SPDX-License-Identifier: Apache-2.0
 * What the reader's terminal can show, and text that keeps to it: widths in columns, colours only where they are wanted, plain
 * ASCII where the locale knows no more.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/str.h"
#include "model/process.h"
#include "model/reading.h"
#include "model/severity.h"

struct page {
    int width; /* columns; 0: as wide as it takes */
    bool color;
    bool utf8;
    bool whole;      /* a pipe: lines are wrapped, never cut */
    bool verbose;    /* evidence, too */
    bool root;       /* commands need no sudo */
    struct wall now; /* for ages */
};

/* Meanings, not colours: readable on light and dark backgrounds. */
enum ink { INK_PLAIN, INK_STRONG, INK_FAINT, INK_LOAD, INK_MEMORY, INK_GOOD, INK_WARN, INK_BAD, INK_LABEL };

enum align { LEFT, RIGHT };

/* Columns that a text takes: 0 for combining characters, 2 for wide ones. */
int text_width(struct str s);
static inline int width_of(const char *text)
{
    return text_width(str_from(text));
}

/* Signs that have an ASCII form. */
const char *page_dash(const struct page *page); /* what people see for an absent reading */
const char *page_dot(const struct page *page);  /* between parts of a line */

/* What stands in front of a line, the same in every view: look at it, in use and fine, nothing to see. */
enum sign { SIGN_LOOK, SIGN_FINE, SIGN_REST };
const char *page_sign(const struct page *page, enum sign sign);
/* Worth a look from a notice on. */
enum sign severity_sign(enum severity severity, bool rests);
/* Red: act now; yellow: look soon; plain: worth knowing. */
enum ink severity_ink(enum severity severity);
/* Text in an ink; nothing but the text when the page has no colour. */
void page_ink(struct buf *out, const struct page *page, enum ink ink, struct str text);

/* The text, cut with an ellipsis to at most `width` columns (0: not cut), in ASCII where the page needs it. Returns its columns. */
int page_fit(struct buf *out, const struct page *page, struct str text, int width);

/* The mark of everything that was not measured on a real machine. */
void page_simulated(struct buf *out, const struct page *page);
/* A cell of exactly `width` columns. */
void page_cell(struct buf *out, const struct page *page, enum ink ink, enum align align, const char *text, int width);

/* A bar of `width` columns, filled to permille; an absent reading has none. */
void page_bar(struct buf *out, const struct page *page, enum ink ink, struct reading permille, int width);

/* Whole words, broken into lines that begin with `indent` blanks; the first line continues at column `used`. */
void page_wrap(struct buf *out, const struct page *page, enum ink ink, const char *text, int indent, int used);

/* Numbers for people. Each leaves the dash where the reading is absent. */
enum { NUMBER_SIZE = 32 };
void show_bytes(char text[NUMBER_SIZE], const struct page *page, struct reading bytes);       /* "16.6 GiB", "312 MiB" */
void show_percent(char text[NUMBER_SIZE], const struct page *page, struct reading permille);  /* "78%" */
void show_temperature(char text[NUMBER_SIZE], const struct page *page, struct reading mdegc); /* "71 °C" */
void show_watts(char text[NUMBER_SIZE], const struct page *page, struct reading mw);
void show_energy(char text[NUMBER_SIZE], const struct page *page, struct reading mj);        /* "0.86 kWh" */
void show_rate(char text[NUMBER_SIZE], const struct page *page, struct reading bytes_per_s); /* "1.2 MiB/s" */
/* "17.6/24.0 GiB", in the unit of the second. */
void show_bytes_of(char text[NUMBER_SIZE], const struct page *page, struct reading used, struct reading total);
/* What a model server says of itself: "24 requests running, 9 waiting, KV cache 98%"; "" where it says nothing of these. */
enum { SERVING_WORDS = 160 };
const char *show_requests(char text[SERVING_WORDS], const struct process *p);
/* "first token 4.2 s, 39 ms per token, 1500 prompt tokens/s, 40% of prompts cached, 22 requests a minute interrupted" */
const char *show_answering(char text[SERVING_WORDS], const struct process *p);
void show_age(char text[NUMBER_SIZE], const struct page *page,
              int64_t ms); /* "40s", "12m", "3h 7m", "5d 4h"; negative: not known */
