/* SPDX-License-Identifier: Apache-2.0
 * A GPU's usual values as JSON, written and parsed.
 */
#pragma once

#include "answer/answer.h"
#include "insight/baseline/baseline.h"

extern const struct answer usual_answer;
/* The key `usual`: null until a day of history is known. */
void json_usual(struct json_writer *j, const struct usual *u);
/* Parses its value; NULL or null: nothing is known. */
void usual_from_json(const json_t *json, struct usual *ret);
