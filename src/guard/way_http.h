/* SPDX-License-Identifier: Apache-2.0
 * The HTTP ways: rows of http_ways.def, and rows that a user adds.
 */
#pragma once

#include "guard/way.h"

struct http_way {
    const char *name;
    const char *list_method, *list_path, *items, *id, *only;
    const char *name_key, *extra_key; /* by which an item is loaded again, and with which settings; "" : its id, none */
    const char *busy_path, *busy_key;
    const char *before_path, *before_body;
    const char *unload_method, *unload_path, *unload_body;
    const char *reload_method, *reload_path, *reload_body;
    const char *after_path, *after_body;
    const char *asleep_path, *asleep_key;
    const char *idle;  /* "idle": the server dies when it is unloaded while busy, or loaded while it is */
    int64_t settle_ms; /* how long after its yes the memory may still be held; 0: 5000 */
    const char *what;
};

const struct http_way *http_way_find(const char *name);
size_t http_way_count(void);
const struct http_way *http_way_at(size_t i);

extern const struct way_ops way_http;
