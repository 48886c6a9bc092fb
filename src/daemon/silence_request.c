/* SPDX-License-Identifier: Apache-2.0
 * POST /api/alerts/silence: adds or removes a silence.
 */
#include "daemon/part.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "format/alert.h"
#include "serve/data/part.h"

enum { SILENCE_LONGEST_S = 366 * 86400 };

/* {"alert": "hot", "gpu": 0} or ["alert=hot", "gpu=0"] */
static int read_matchers(const json_t *matchers, struct silence *s, struct error *err)
{
    char text[256];
    const char *key;
    json_t *value;
    size_t i;
    int result = 0;
    json_array_foreach(matchers, i, value)
    {
        const char *one = json_string_value(value);
        result = result ? result : silence_add_matcher(s, str_from(one ? one : ""), err);
    }
    if (!json_is_object(matchers))
        return result;
    json_object_foreach((json_t *)matchers, key, value)
    {
        if (json_is_integer(value))
            snprintf(text, sizeof text, "%s=%lld", key, (long long)json_integer_value(value));
        else
            snprintf(text, sizeof text, "%s=%s", key, json_is_string(value) ? json_string_value(value) : "");
        result = result ? result : silence_add_matcher(s, str_from(text), err);
    }
    return result;
}

/* "for_seconds": 3600, or "until": "2026-11-15T12:00:00Z" */
static int read_end(const json_t *body, struct wall now, struct silence *s, struct error *err)
{
    const json_t *seconds = json_object_get(body, "for_seconds"), *until = json_object_get(body, "until");
    double length = json_number_value(seconds);
    if (json_is_number(seconds) && length > 0 && length <= SILENCE_LONGEST_S)
        s->until.ms = now.ms + (int64_t)(length * MS_PER_S);
    else if (seconds || !json_is_string(until) || !wall_parse(str_from(json_string_value(until)), &s->until))
        return error_set(err, -EINVAL, "\"for_seconds\" (up to a year) or \"until\" (a time like 2026-11-15T12:00:00Z) is needed");
    return 0;
}

static int add_silence(struct silences *silences, struct wall now, const json_t *body, const char *who, struct buf *out)
{
    struct silence s = {0};
    struct error err = {0};
    const char *comment = json_string_value(json_object_get(body, "comment"));
    const char *by = json_string_value(json_object_get(body, "created_by"));
    str_copy_clean(s.comment, sizeof s.comment, str_from(comment ? comment : ""));
    str_copy_clean(s.created_by, sizeof s.created_by, str_from(by ? by : who ? who : ""));
    int result = read_matchers(json_object_get(body, "matchers"), &s, &err);
    if (!result)
        result = read_end(body, now, &s, &err);
    if (!result)
        result = silences_add(silences, &s, now, &err);
    if (result) {
        char sentence[sizeof err.text + 2];
        snprintf(sentence, sizeof sentence, "%s.", err.text);
        return part_error(out, result == -ENOSPC ? 503 : 400, result == -ENOSPC ? "too_many" : "bad_body", sentence);
    }
    answer_write(JSON_LINE(out), &silenced_answer, &s, NULL);
    return 201;
}

static int remove_silence(struct silences *silences, const char *id, struct buf *out)
{
    struct silence gone = {0};
    if (!silences_remove(silences, id))
        return part_error(out, 404, "no_such_silence", "There is no such silence; `whirr alert silence list` lists them.");
    str_copy(gone.id, sizeof gone.id, str_from(id));
    answer_write(JSON_LINE(out), &unsilenced_answer, &gone, NULL);
    return 200;
}

int silence_request(struct silences *silences, struct wall now, const struct part_request *r, struct buf *out)
{
    AUTO_JSON json_t *json = json_loadb(r->body.at ? r->body.at : "", r->body.len, JSON_REJECT_DUPLICATES, NULL);
    const json_t *remove = json_object_get(json, "remove");
    return !json_is_object(json)    ? part_error(out, 400, "bad_body", "The body must be a JSON object.")
           : !remove                ? add_silence(silences, now, json, r->who, out)
           : json_is_string(remove) ? remove_silence(silences, json_string_value(remove), out)
                                    : part_error(out, 400, "bad_body", "\"remove\" must be the number of a silence, like \"s1\".");
}
