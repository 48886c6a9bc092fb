/* SPDX-License-Identifier: Apache-2.0
 * The state of alerts as it was kept. What was read can be written and read again to the same text, and one step with it does no
 * harm.
 */
#include <stdlib.h>

#include "alert/alert.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct alert_rules rules; /* none */
    static struct alert_set set, again;
    struct error err;
    alert_set_init(&set, &rules);
    if (alert_keep_read(&set, (struct str){(const char *)data, size}, &err) == 0) {
        AUTO_BUF struct buf first = BUF(ALERT_KEEP_MAX), second = BUF(ALERT_KEEP_MAX);
        alert_keep_write(&first, &set);
        alert_set_init(&again, &rules);
        if (first.failed || alert_keep_read(&again, buf_view(&first), &err))
            abort();
        alert_keep_write(&second, &again);
        if (!str_equal(buf_view(&first), buf_view(&second)))
            abort();
        alert_set_done(&again);
        struct snapshot *now = snapshot_new(0);
        now->taken_at.ms = 1700000000000;
        alert_set_step(&set, now, NULL, NULL, NULL);
        snapshot_unref(now);
    }
    alert_set_done(&set);
    return 0;
}
