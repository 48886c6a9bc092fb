/* SPDX-License-Identifier: Apache-2.0
 * The HTTP ways: rows of http_ways.def, and rows that a user adds.
 */
#pragma once

#include "guard/way.h"

struct http_way {
    const char *name;
    const char *list_method, *list_path, *items, *id, *only;
    const char *busy_path, *busy_key;
    const char *before_path, *before_body;
    const char *unload_method, *unload_path, *unload_body;
    const char *reload_method, *reload_path, *reload_body;
    const char *after_path, *after_body;
    const char *asleep_path, *asleep_key;
    const char *what;
};

const struct http_way *http_way_find(const char *name);
size_t http_way_count(void);
const struct http_way *http_way_at(size_t i);

int http_way_busy(const struct http_way *row, struct way_context *c, struct error *err);
int http_way_evict(const struct http_way *row, struct way_context *c, struct error *err);
int http_way_resume(const struct http_way *row, struct way_context *c, struct error *err);
enum way_found http_way_find_state(const struct http_way *row, struct way_context *c, struct error *err);
