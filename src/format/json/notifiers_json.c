/* SPDX-License-Identifier: Apache-2.0
 * Notifiers as JSON, written and parsed.
 */
#include "format/notifiers.h"

ANSWER_NAMES(types, enum config_notify_type, notify_type_name, 0, 63); /* NULL ends them */
ANSWER_NAMES(states, enum notifier_state, notifier_state_name, NOTIFIER_IDLE, NOTIFIER_RETRYING);

ANSWER_TABLE(notifier_answer, struct notifier_stats, .name = "Notifier")
{
    FIELD(TEXT, "name", name, "Of the table [notify.NAME]");
    FIELD(WORD, "type", type, NULL, NAMES(types));
    FIELD(TEXT, "target", target, NULL);
    FIELD(NAME, "state", state, NULL, NAMES(states));
    FIELD(INT, "queued", queued, "Notices that wait");
    FIELD(INT, "sent_total", sent_total, "Notices that arrived");
    FIELD(INT, "failed_total", failed_total, "Notices that were given up");
    FIELD(INT, "attempts_total", attempts_total, "Messages, with and without success");
    FIELD(INT, "errors_total", errors_total, "Messages that did not arrive");
    FIELD(INT, "held", held, "Notices that wait for the end of quiet hours or for a digest");
    FIELD(MOMENT, "held_until", held_until, "When the first of them is sent", OR_NULL);
    FIELD(LINES, "quiet", quiet, "Quiet hours, as they are set: `22:00-07:00 info,warning`");
    FIELD(LINES, "digest", digest, "Times of digests, as they are set: `08:00`");
    FIELD(MOMENT, "last_sent_at", last_sent_at, NULL, OR_NULL);
    FIELD(MOMENT, "next_try_at", next_try_at, NULL, OR_NULL);
    FIELD(TEXT, "last_error", last_error, "null: the last message arrived", OR_NULL);
}

struct notifier_list {
    const struct notifier_stats *list;
    size_t count;
};

SHARED_ANSWER_TABLE(notifiers_answer, struct notifier_list, .name = "Notifiers")
{
    OBJECTS("notifiers", list, count, notifier_answer, NULL);
}

void json_notifiers(struct json_writer *j, const struct notifier_stats *list, size_t count)
{
    answer_write(j, &notifiers_answer, &(struct notifier_list){list, count}, NULL);
}

size_t notifiers_from_json(struct str text, struct notifier_stats *list, size_t max)
{
    json_t *root = json_loadb(text.at, text.len, 0, NULL), *o;
    size_t i, count = 0;
    json_array_foreach(json_object_get(root, "notifiers"), i, o)
    {
        if (count == max)
            break;
        list[count] = (struct notifier_stats){.type = ""};
        answer_read(&notifier_answer, o, &list[count++], NULL);
    }
    json_decref(root);
    return count;
}
