/* SPDX-License-Identifier: Apache-2.0
 * Small paths into JSON: "models[].loaded_instances[]", "state.job_count", "[].is_processing", "".
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "base/str.h"

/* `holder` is the object with the list that contains the value (the root if there is none). */
typedef bool json_path_visit(const json_t *value, const json_t *holder, void *user);

/* Calls `each` for every value at the path until it returns false. "[]" visits all elements of an array. */
void json_path_each(const json_t *root, struct str path, json_path_visit *each, void *user);

/* The first value, or NULL. */
const json_t *json_path_first(const json_t *root, const char *path);

/* Whether any value at the path is truthy. */
bool json_path_any(const json_t *root, const char *path);
