/* SPDX-License-Identifier: Apache-2.0
 * The words of an explanation: bounded sentences, readings as people say them, processes by name.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/clock.h"
#include "base/words.h"
#include "insight/facts/facts.h"

/* A text that takes whole clauses: one that does not fit is left out, and what is there stays well formed. */
struct text {
    char *at;
    size_t size, len;
};

#define TEXT(array) ((struct text){.at = (array), .size = sizeof(array)})

/* False: it did not fit, and nothing was added. Leaves room for a full stop. */
bool text_append(struct text *s, const char *format, ...) __attribute__((format(gnu_printf, 2, 3)));
void text_stop(struct text *s); /* the full stop */

enum { NAME_WORDS = 160, SHORT_WORDS = 48 };

/* "GPU 0", "Simulated GPU 0"; inside a sentence "simulated GPU 0" */
const char *words_gpu(const struct gpu *gpu, bool begins, char out[SHORT_WORDS]);
/* "waited for its loaders, which couldn't keep up" from "waits for its loaders, which can't keep up". */
void words_past(struct text *s, const char *now);
/* What it is doing, from its command line, model and type: "training", "serving llama3:70b", "rendering", "computing" */
const char *words_work(const struct process *p, char out[NAME_WORDS]);
/* It draws: a game, a compositor. A program that also computes, and does not say that it trains or serves, draws. */
bool words_draws(const struct process *p);

/* Whom a process that works for others stands for: clients of MPS, virtual machines; NULL: it works for itself. */
const char *words_stands_for(const struct process *p);

/* ": train.py holds 18.2 GiB, ollama 4.1 GiB": the two that hold most; "" where that is not known. */
enum { HOLDER_WORDS = 192 };
const char *words_holders(const struct gpu *gpu, char out[HOLDER_WORDS]);

const char *words_absent(enum reading_state state); /* "not reported by this GPU or driver" */

/* One question, two tenses: what is and what was. */
static inline const char *is(const struct facts *f)
{
    return f->over ? "was" : "is";
}

static inline const char *are(const struct facts *f)
{
    return f->over ? "were" : "are";
}

static inline const char *has(const struct facts *f)
{
    return f->over ? "had" : "has";
}

static inline const char *cannot(const struct facts *f)
{
    return f->over ? "couldn't" : "can't";
}

static inline long long percent(int64_t permille)
{
    return words_whole(permille, 10);
}
