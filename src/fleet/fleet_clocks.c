/* SPDX-License-Identifier: Apache-2.0
 * Hosts whose clock is off: they are up, but their data has wrong timestamps.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "fleet/fleet.h"
#include "net/clock_off.h"

int fleet_compare_clock(struct fleet *f, const char *host, int64_t ahead_ms)
{
    if (!clock_is_off(ahead_ms))
        return 0;
    struct fleet_note *n = fleet_note_of(f, host);
    if (n && llabs(ahead_ms) > llabs(n->ahead_ms))
        n->ahead_ms = ahead_ms;
    return n ? 0 : -ENOMEM;
}

/* "its clock is 10m behind the database's"; queries about the present then miss the data of a host that pushes. */
static void settle_clock(const struct fleet *f, struct fleet_note *n)
{
    char words[64], text[160];
    snprintf(text, sizeof text, "its %s%s", clock_off_words(n->ahead_ms, "the database's", words, sizeof words),
             fleet_has_gpus(f, n->host) ? "" : ": its readings are stored at the wrong time");
    fleet_note_add(n, "clock_off", EFFECT_HEALTHY, text);
}

void fleet_settle_clocks(struct fleet *f)
{
    f->clocks_off = 0;
    for (size_t i = 0; i < f->note_count; i++) {
        if (!f->notes[i].ahead_ms)
            continue;
        f->clocks_off++;
        settle_clock(f, &f->notes[i]);
    }
}
