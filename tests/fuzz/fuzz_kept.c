/* SPDX-License-Identifier: Apache-2.0
 * Files that are kept over restarts, and lines of the kernel log, whatever is in them: refused, or whole and within their limits.
 */
#include <stdlib.h>

#include "alert/notify/outbox.h"
#include "base/cleanup.h"
#include "insight/verdict/health.h"
#include "insight/verdict/health_memory.h"
#include "source/fault/fault.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds)
        abort();
}

static void outbox(struct str text)
{
    struct outbox box = {.rules = {.send_resolved = true, .group = true, .group_max = 100}};
    static struct outbox_batch batch;
    struct error err;
    struct mono now = {NS_PER_S};
    struct wall today = {1700000000000};
    if (outbox_read(&box, text, now, today, &err) == 0) {
        require(box.count <= NOTIFIER_QUEUE_MAX && box.sent_count <= OUTBOX_SENT_MAX);
        while (outbox_take(&box, now, today, &batch)) {
            require(batch.count > 0 && batch.list[0]->alert[0]);
            outbox_settle(&box, &batch, OUTBOX_SENT, 0, now, today);
        }
        AUTO_BUF struct buf again = BUF(OUTBOX_FILE_MAX);
        outbox_write(&box, "x", &again);
    } else {
        require(box.count == 0 && box.sent_count == 0);
    }
    outbox_done(&box);
}

static void health(struct str text)
{
    struct health_history *h = health_history_new();
    struct snapshot *s = snapshot_new(0);
    struct health_log_mark mark;
    struct error err;
    if (h && s && health_read(h, text, &(struct health_host){.boot = "boot"}, (struct wall){1700000000000}, &mark, &err) == 0) {
        require(h->card_count <= GPU_MAX);
        s->taken_at.ms = 1700000000000;
        health_free(health_view(h, s));
    }
    health_history_free(h);
    snapshot_unref(s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str text = {(const char *)data, size};
    struct fault_line fault;
    if (driver_fault_parse(text, &fault))
        require(driver_fault_find(fault.code) && strlen(fault.pci_address) == 12);
    outbox(text);
    health(text);
    return 0;
}
