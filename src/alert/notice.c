/* SPDX-License-Identifier: Apache-2.0
 * Filling a notice.
 */
#include "alert/notice.h"

#include "base/str.h"

const char *notice_status_name(enum notice_status status)
{
    return status == NOTICE_RESOLVED ? "resolved" : "firing";
}

void notice_add_label(struct alert_notice *n, const char *key, const char *value)
{
    if (n->label_count == NOTICE_LABELS_MAX)
        return;
    struct notice_label *label = &n->labels[n->label_count++];
    str_copy_clean(label->key, sizeof label->key, str_from(key));
    str_copy_clean(label->value, sizeof label->value, str_from(value));
}

void notice_add_notifier(struct alert_notice *n, const char *name)
{
    if (n->notifier_count < NOTICE_NOTIFIERS_MAX)
        str_copy(n->notifiers[n->notifier_count++], NOTICE_NOTIFIER_SIZE, str_from(name));
}
