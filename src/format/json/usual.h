/* SPDX-License-Identifier: Apache-2.0
 * What is usual for a GPU, as JSON, both ways.
 */
#pragma once

#include <jansson.h>

#include "base/json_writer.h"
#include "insight/baseline/baseline.h"

/* The key `usual`: null while no day of history is known. */
void json_usual(struct json_writer *j, const struct usual *u);
/* Reads its value back; NULL or null: nothing is known. */
void usual_from_json(const json_t *json, struct usual *ret);
