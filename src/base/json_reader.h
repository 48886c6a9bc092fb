/* SPDX-License-Identifier: Apache-2.0
 * Members of a JSON object from another program or another version of whirr: a member that is missing or has another type reads as
 * empty.
 */
#pragma once

#include <jansson.h>

#include "base/clock.h"
#include "base/str.h"

/* "" if missing. */
static inline const char *json_text(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

/* Truncates to `size` and removes control characters. */
static inline void json_copy_text(const json_t *object, const char *key, char *to, size_t size)
{
    str_copy_clean(to, size, str_from(json_text(object, key)));
}

/* ms 0 if missing. */
static inline struct wall json_moment(const json_t *object, const char *key)
{
    struct wall at = {0};
    return wall_parse(str_from(json_text(object, key)), &at) ? at : (struct wall){0};
}
