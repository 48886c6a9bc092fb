/* SPDX-License-Identifier: Apache-2.0
 * The one description of what can be asked. From it come the parameters of the API's description, the check of every query, and the
 * arguments of tools for assistants: see parameters.def.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/str.h"

enum parameter_kind { PARAMETER_TEXT, PARAMETER_WHOLE, PARAMETER_NUMBER, PARAMETER_YES };

enum parameter_id {
    PARAMETER_NONE,
#define PARAMETER(id, ...) PARAMETER_##id,
#include "answer/parameters.def"
#undef PARAMETER
    PARAMETER_COUNT
};

struct parameter {
    const char *id, *name;
    enum parameter_kind kind;
    const char *about;            /* for people */
    double least, most;           /* of numbers; most 0: any */
    const char *choices;          /* the only texts, "json, csv"; NULL: any */
    const char *preset, *example; /* as JSON; NULL: none */
    bool required;
};

struct parameter parameter_of(enum parameter_id id);
/* By its id; false: there is none. */
bool parameter_find(const char *id, struct parameter *ret);
/* -EINVAL and a message. */
int parameter_check(const struct parameter *p, const char *text, struct error *err);
/* A whole number within its range. */
int parameter_whole(enum parameter_id id, const char *text, int64_t *ret, struct error *err);
/* JSON Schema of its value. */
json_t *parameter_schema(const struct parameter *p);
