/* SPDX-License-Identifier: Apache-2.0
 * An answer cut down to the members of its record, which can be read as well as written.
 */
#pragma once

#include <stdlib.h>

#include "answer/answer.h"

enum { MEMBERS_MAX = 256 };

/* Without what is made, and what only points elsewhere. */
static void deep_members(const struct answer *a, struct answer *ret)
{
    size_t count = 0;
    struct answer_field *fields = calloc(MEMBERS_MAX + 1, sizeof *fields);
    *ret = *a;
    ret->rows = calloc(1, sizeof *ret->rows);
    ret->rows->list = fields;
    for (const struct answer_field *f = answer_fields(a); f->kind; f++) {
        if (f->make || f->next || f->write || f->by_pointer || f->by_text || f->kind == ANSWER_WORD || f->kind == ANSWER_ANY)
            continue;
        if (count == MEMBERS_MAX)
            abort();
        fields[count] = *f;
        if (f->of) {
            struct answer *part = calloc(1, sizeof *part);
            deep_members(f->of, part);
            fields[count].of = part;
        }
        count++;
    }
}

static void free_members(const struct answer *a)
{
    for (const struct answer_field *f = answer_fields(a); f->kind; f++)
        if (f->of) {
            free_members(f->of);
            free((void *)f->of);
        }
    free((void *)a->rows->list);
    free(a->rows);
}
