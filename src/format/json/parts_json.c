/* SPDX-License-Identifier: Apache-2.0
 * Building blocks of JSON bodies: absent readings, times, texts.
 */
#include "format/json/json.h"

void json_time(struct json_writer *j, const char *key, struct wall at)
{
    char text[WALL_TEXT_SIZE];
    if (at.ms)
        wall_format(at, text);
    jw_key_text(j, key, at.ms ? text : NULL);
}
