/* SPDX-License-Identifier: Apache-2.0
 * A GPU's usual values as JSON, written and parsed.
 */
#pragma once

#include <jansson.h>

#include "base/json_writer.h"
#include "insight/baseline/baseline.h"

/* The key `usual`: null until a day of history is known. */
void json_usual(struct json_writer *j, const struct usual *u);
/* Parses its value; NULL or null: nothing is known. */
void usual_from_json(const json_t *json, struct usual *ret);
