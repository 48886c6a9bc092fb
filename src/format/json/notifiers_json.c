/* SPDX-License-Identifier: Apache-2.0
 * Notifiers as JSON, written and parsed.
 */
#include "format/notifiers.h"

#include <jansson.h>
#include <string.h>

#include "base/json_reader.h"
#include "format/json/json.h"

/* Lines as an array. */
static void key_lines(struct json_writer *j, const char *key, const char *lines)
{
    struct str rest = str_from(lines), line;
    jw_key_array(j, key);
    while (str_cut(&rest, '\n', &line))
        jw_str(j, line);
    jw_end(j);
}

void json_notifiers(struct json_writer *j, const struct notifier_stats *list, size_t count)
{
    jw_object(j);
    jw_key_array(j, "notifiers");
    for (size_t i = 0; i < count; i++) {
        const struct notifier_stats *s = &list[i];
        jw_object(j);
        jw_key_text(j, "name", s->name);
        jw_key_text(j, "type", s->type);
        jw_key_text(j, "target", s->target);
        jw_key_text(j, "state", notifier_state_name(s->state));
        jw_key_int(j, "queued", (int64_t)s->queued);
        jw_key_int(j, "sent_total", (int64_t)s->sent_total);
        jw_key_int(j, "failed_total", (int64_t)s->failed_total);
        jw_key_int(j, "attempts_total", (int64_t)s->attempts_total);
        jw_key_int(j, "errors_total", (int64_t)s->errors_total);
        jw_key_int(j, "held", (int64_t)s->held);
        json_time(j, "held_until", s->held_until);
        key_lines(j, "quiet", s->quiet);
        key_lines(j, "digest", s->digest);
        json_time(j, "last_sent_at", s->last_sent_at);
        json_time(j, "next_try_at", s->next_try_at);
        jw_key_text(j, "last_error", s->last_error[0] ? s->last_error : NULL);
        jw_end(j);
    }
    jw_end(j);
    jw_end(j);
}

/* ---- parsing ---- */

static void take_lines(const json_t *o, const char *key, char *to, size_t size)
{
    AUTO_BUF struct buf all = BUF(64 * 1024);
    size_t i;
    json_t *line;
    json_array_foreach(json_object_get(o, key), i, line)
        buf_printf(&all, "%s%s", i ? "\n" : "", json_string_value(line) ? json_string_value(line) : "");
    str_copy(to, size, buf_view(&all));
}

size_t notifiers_from_json(struct str text, struct notifier_stats *list, size_t max)
{
    json_t *root = json_loadb(text.at, text.len, 0, NULL), *o;
    size_t i, count = 0;
    json_array_foreach(json_object_get(root, "notifiers"), i, o)
    {
        if (count == max)
            break;
        struct notifier_stats *s = &list[count++];
        *s = (struct notifier_stats){.type = notifier_type_known(json_string_value(json_object_get(o, "type")))};
        json_copy_text(o, "name", s->name, sizeof s->name);
        json_copy_text(o, "target", s->target, sizeof s->target);
        json_copy_text(o, "last_error", s->last_error, sizeof s->last_error);
        s->last_sent_at = json_moment(o, "last_sent_at");
        s->next_try_at = json_moment(o, "next_try_at");
        s->held_until = json_moment(o, "held_until");
        take_lines(o, "quiet", s->quiet, sizeof s->quiet);
        take_lines(o, "digest", s->digest, sizeof s->digest);
        s->held = (size_t)json_integer_value(json_object_get(o, "held"));
        const char *state = json_string_value(json_object_get(o, "state"));
        for (enum notifier_state k = NOTIFIER_IDLE; state && k <= NOTIFIER_RETRYING; k++)
            if (strcmp(notifier_state_name(k), state) == 0)
                s->state = k;
        s->queued = (size_t)json_integer_value(json_object_get(o, "queued"));
        s->sent_total = (uint64_t)json_integer_value(json_object_get(o, "sent_total"));
        s->failed_total = (uint64_t)json_integer_value(json_object_get(o, "failed_total"));
        s->attempts_total = (uint64_t)json_integer_value(json_object_get(o, "attempts_total"));
        s->errors_total = (uint64_t)json_integer_value(json_object_get(o, "errors_total"));
    }
    json_decref(root);
    return count;
}
