/* SPDX-License-Identifier: Apache-2.0
 * Events reported by the driver: critical errors (XID) and double-bit memory errors.
 */
#include "source/nvml/internal.h"

#include <stdio.h>

#include "source/fault/fault.h"

static void register_card(struct nvml *n, struct nvml_card *card)
{
    unsigned long long types = NVML_EVENT_XID | NVML_EVENT_DOUBLE_BIT_ECC, supported = 0;
    card->events_registered = true; /* once, whatever the result */
    if (n->lib.event_types && n->lib.event_types(card->handle, &supported) == NVML_OK)
        types &= supported;
    if (!types || n->lib.event_register(card->handle, types, n->events) != NVML_OK)
        card->xid_last = reading_absent(READING_UNSUPPORTED);
    else if (card->xid_last.state != READING_OK)
        card->xid_last = reading_absent(READING_PENDING);
}

void events_update(struct nvml *n)
{
    if (!n->running || n->events_refused)
        return;
    if (!n->events) {
        bool able = n->lib.event_create && n->lib.event_register && n->lib.event_wait && n->lib.event_free;
        if (!able || n->lib.event_create(&n->events) != NVML_OK) {
            n->events_refused = true;
            n->events = NULL;
            return;
        }
    }
    for (size_t i = 0; i < n->card_count; i++)
        if (n->cards[i].handle && !n->cards[i].events_registered && !n->cards[i].asleep && !n->cards[i].trouble)
            register_card(n, &n->cards[i]);
}

void events_done(struct nvml *n)
{
    if (n->events && n->running)
        n->lib.event_free(n->events);
    n->events = NULL;
}

static int events_card_of(const struct nvml *n, nvml_device handle)
{
    for (size_t i = 0; i < n->card_count; i++)
        if (n->cards[i].handle == handle)
            return (int)i;
    return -1;
}

static void nvml_events_tell(struct nvml *n, const struct nvml_event *said, struct event *event)
{
    int at = events_card_of(n, said->device);
    *event = (struct event){.kind = EVENT_OTHER, .gpu_index = at, .at = clock_wall(n->env->clock)};
    if (said->type == NVML_EVENT_XID) {
        event->kind = EVENT_DRIVER_FAULT;
        event->code = (int64_t)said->data;
        const struct fault_info *xid = xid_find(event->code);
        snprintf(event->text, sizeof event->text, "XID %lld%s%s", (long long)event->code, xid ? ": " : "", xid ? xid->what : "");
        if (at >= 0)
            n->cards[at].xid_last = reading_ok(event->code);
    } else if (said->type == NVML_EVENT_DOUBLE_BIT_ECC) {
        event->kind = EVENT_ECC;
        snprintf(event->text, sizeof event->text, "an uncorrectable memory error (double-bit) occurred");
    } else {
        snprintf(event->text, sizeof event->text, "driver event 0x%llx", said->type);
    }
}

size_t events_take(struct nvml *n, struct event *events, size_t max)
{
    size_t count = 0;
    while (n->running && n->events && count < max) {
        struct nvml_event said = {0};
        if (n->lib.event_wait(n->events, &said, 0) != NVML_OK)
            break; /* TIMEOUT: none; sampling notices a lost card */
        nvml_events_tell(n, &said, &events[count++]);
    }
    return count;
}
