/* SPDX-License-Identifier: Apache-2.0
 * One reading under a key: a number in the unit of the key, null if unknown.
 */
#pragma once

#include "base/json_writer.h"
#include "model/reading.h"

static inline void json_key_reading(struct json_writer *j, const char *key, struct reading r, double scale)
{
    int64_t value;
    jw_key(j, key);
    if (reading_get(r, &value))
        jw_number(j, (double)value * scale);
    else
        jw_null(j);
}
