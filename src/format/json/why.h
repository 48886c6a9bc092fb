/* SPDX-License-Identifier: Apache-2.0
 * The explanation as data: the body of GET /api/why and of `whirr why --json`.
 */
#pragma once

#include "format/json/json.h"
#include "insight/why/why.h"

/* s: the snapshot that was explained. */
void json_why(struct json_writer *j, const struct snapshot *s, const struct why *why, int only);

/* Its keys alone, for an object that has more; and those of one part: answer, causes, suggestions. */
void json_why_keys(struct json_writer *j, const struct snapshot *s, const struct why *why, int only);
void json_why_part(struct json_writer *j, const struct why_part *p);

/* The other way: an explanation as the daemon gave it, for the GPUs of that snapshot. NULL when it is none, or memory is out. */
struct json_t;
struct why *why_from_json(const struct json_t *json, const struct snapshot *s);
