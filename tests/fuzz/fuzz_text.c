/* SPDX-License-Identifier: Apache-2.0
 * Text from outside: views, numbers, dates, cleaned names. Whatever comes in, the JSON that goes out is JSON.
 */
#include <jansson.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/json_writer.h"
#include "base/str.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds)
        abort();
}

static void json_is_json(struct str text)
{
    AUTO_BUF struct buf out = BUF(1 << 20);
    struct json_writer j = JSON_WRITER(&out);
    jw_object(&j);
    jw_key(&j, "text");
    jw_str(&j, text);
    double number;
    if (str_to_double(text, &number))
        jw_key_number(&j, "number", number);
    jw_end(&j);
    if (out.failed)
        return;
    json_t *parsed = json_loadb(out.at, out.len, JSON_ALLOW_NUL | JSON_DECODE_INT_AS_REAL, NULL);
    require(parsed && json_is_string(json_object_get(parsed, "text")));
    json_decref(parsed);
}

static void copies_fit_and_are_clean(struct str text)
{
    char copy[24];
    str_copy_clean(copy, sizeof copy, text);
    struct str rest = str_from(copy);
    require(rest.len < sizeof copy);
    while (rest.len) {
        size_t n = str_utf8(rest);
        require(n > 0 && (unsigned char)rest.at[0] >= ' ');
        rest = (struct str){rest.at + n, rest.len - n};
    }
}

static void dates_survive_a_round_trip(struct str text)
{
    struct wall w, again;
    char written[WALL_TEXT_SIZE];
    if (!wall_parse(text, &w))
        return;
    wall_format(w, written);
    require(!wall_parse(str_from(written), &again) || again.ms == w.ms);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str text = {(const char *)data, size}, rest = text, part;
    json_is_json(text);
    copies_fit_and_are_clean(text);
    dates_survive_a_round_trip(text);
    size_t parts = 0;
    while (str_cut(&rest, ',', &part))
        parts += part.len + 1;
    require(size == 0 || parts == size + 1 || parts == size);
    int64_t i;
    uint64_t u;
    str_to_i64(text, &i);
    str_to_u64(text, &u);
    str_to_scaled(text, 1000, &i);
    return 0;
}
