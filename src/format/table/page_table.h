/* SPDX-License-Identifier: Apache-2.0
 * The capabilities of the terminal, and text that respects them: widths in columns, colors only if wanted, plain ASCII if the
 * locale requires it.
 */
#pragma once

#include <stdbool.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/str.h"
#include "model/process.h"
#include "model/reading.h"
#include "model/severity.h"

struct page {
    int width; /* columns; 0: unlimited */
    bool color;
    bool utf8;
    bool whole;      /* a pipe: wrap lines, never cut them */
    bool verbose;    /* show evidence, too */
    bool root;       /* omit sudo from commands */
    struct wall now; /* for ages */
};

/* Meanings instead of colors: readable on light and dark backgrounds. */
enum ink { INK_PLAIN, INK_STRONG, INK_FAINT, INK_LOAD, INK_MEMORY, INK_GOOD, INK_WARN, INK_BAD, INK_LABEL };

enum align { LEFT, RIGHT };

/* Width of a text in columns: 0 for combining characters, 2 for wide ones. */
int text_width(struct str s);
static inline int width_of(const char *text)
{
    return text_width(str_from(text));
}

/* Signs with an ASCII form. */
const char *page_dash(const struct page *page); /* shown for an absent reading */
const char *page_dot(const struct page *page);  /* between parts of a line */

/* The sign before a line, the same in every view: needs a look, in use and fine, idle. */
enum sign { SIGN_LOOK, SIGN_FINE, SIGN_REST };
const char *page_sign(const struct page *page, enum sign sign);
/* From a notice on, it needs a look. */
enum sign severity_sign(enum severity severity, bool rests);
/* Red: act now; yellow: look soon; plain: worth knowing. */
enum ink severity_ink(enum severity severity);
/* "▲ " before what needs a look. Returns its columns; 0: it needs none. */
int page_look_sign(struct buf *out, const struct page *page, enum severity severity);
/* Text in an ink; plain if the page has no color. */
void page_ink(struct buf *out, const struct page *page, enum ink ink, struct str text);

/* Truncates the text with an ellipsis to `width` columns (0: don't), in ASCII if needed. Returns its width. */
int page_fit(struct buf *out, const struct page *page, struct str text, int width);

/* Marks everything that was not measured on real hardware. */
void page_simulated(struct buf *out, const struct page *page);
void page_simulated_line(struct buf *out, const struct page *page, bool simulated); /* false: nothing */
/* A cell of exactly `width` columns. */
void page_cell(struct buf *out, const struct page *page, enum ink ink, enum align align, const char *text, int width);

/* A bar of `width` columns, filled to permille; blank for an absent reading. */
void page_bar(struct buf *out, const struct page *page, enum ink ink, struct reading permille, int width);

/* Wraps whole words into lines indented by `indent` blanks; the first line continues at column `used`. */
void page_wrap(struct buf *out, const struct page *page, enum ink ink, const char *text, int indent, int used);

/* Numbers for people. Each writes a dash for an absent reading. */
enum { NUMBER_SIZE = 32 };
void show_bytes(char text[NUMBER_SIZE], const struct page *page, struct reading bytes);       /* "16.6 GiB", "312 MiB" */
void show_percent(char text[NUMBER_SIZE], const struct page *page, struct reading permille);  /* "78%" */
void show_temperature(char text[NUMBER_SIZE], const struct page *page, struct reading mdegc); /* "71 °C" */
void show_watts(char text[NUMBER_SIZE], const struct page *page, struct reading mw);
void show_energy(char text[NUMBER_SIZE], const struct page *page, struct reading mj);        /* "0.86 kWh" */
void show_rate(char text[NUMBER_SIZE], const struct page *page, struct reading bytes_per_s); /* "1.2 MiB/s" */
/* "17.6/24.0 GiB", in the unit of the second. */
void show_bytes_of(char text[NUMBER_SIZE], const struct page *page, struct reading used, struct reading total);
/* A model server's figures: "24 requests running, 9 waiting, KV cache 98%"; "" without these. */
enum { SERVING_WORDS = 160 };
const char *show_requests(char text[SERVING_WORDS], const struct process *p);
/* "first token 4.2 s, 39 ms per token, 1500 prompt tokens/s, 40% of prompts cached, 22 requests a minute interrupted" */
const char *show_answering(char text[SERVING_WORDS], const struct process *p);
void show_age(char text[NUMBER_SIZE], const struct page *page, int64_t ms); /* "40s", "12m", "3h 7m", "5d 4h"; negative: unknown */
