/* SPDX-License-Identifier: Apache-2.0
 * Who waits for whom in the queues of a GPU, traced for a moment (--queues).
 */
#include <stdio.h>

#include "answer/answer.h"
#include "base/words.h"
#include "cli/watch/watch.h"
#include "host/gpu_queue.h"

ANSWER_TABLE(pair_answer, struct queue_pair)
{
    FIELD(INT, "thread", waiter, NULL);
    FIELD(TEXT, "name", waiter_name, NULL);
    FIELD(INT, "waits_for_thread", holder, NULL);
    FIELD(TEXT, "waits_for_name", holder_name, NULL);
    FIELD(TEXT, "pci_address", device, NULL, OR_NULL);
    FIELD(TEXT, "ring", ring, NULL);
    FIELD(INT, "jobs", jobs, NULL);
    FIELD(AMOUNT, "waited_seconds", waited_ns, NULL, SCALE(1e-9));
}

struct told_queues {
    const struct queue_look *look;
    int64_t over_ms;
};

ANSWER_TABLE(look_answer, struct queue_look)
{
    FIELD(INT, "jobs", jobs, NULL);
    FIELD(INT, "events_lost", lost, NULL);
    OBJECTS("waits", pairs, count, pair_answer, NULL);
}

ANSWER_TABLE(queues_answer, struct told_queues)
{
    FIELD(AMOUNT, "over_seconds", over_ms, NULL, SCALE(1e-3));
    VIA(KEYS, NULL, look, look_answer, NULL);
}

static void queues_json(struct buf *out, const struct queue_look *l, int64_t ms)
{
    answer_write(JSON_PAGE(out), &queues_answer, &(struct told_queues){l, ms}, NULL);
}

static void queues_text(struct buf *out, const struct queue_look *l, int64_t ms)
{
    char over[WORDS_SIZE];
    size_t others = 0;
    for (size_t i = 0; i < l->count; i++) {
        const struct queue_pair *p = &l->pairs[i];
        if (p->waiter == p->holder) /* for its own work */
            continue;
        others++;
        buf_printf(out, "%s (%d) waited %.1f ms for %s (%d): %lld jobs on %s%s%s\n", p->waiter_name, (int)p->waiter,
                   (double)p->waited_ns / 1e6, p->holder_name, (int)p->holder, (long long)p->jobs, p->ring,
                   p->device[0] ? " of " : "", p->device);
    }
    words_duration(ms, over);
    if (!l->jobs)
        buf_printf(out, "No job went through drm's GPU scheduler in %s.\n", over);
    else if (!others)
        buf_printf(out, "No thread waited for another: %lld jobs in %s.\n", (long long)l->jobs, over);
    if (l->lost)
        buf_printf(out, "The kernel dropped %lld events: waits are at least these.\n", (long long)l->lost);
}

int watch_queues(struct cli *cli)
{
    enum { DEFAULT_MS = 2000, LONGEST_MS = 60 * 1000 };
    static struct queue_look look;
    AUTO_BUF struct buf out = BUF(1 << 20);
    struct error err = {0};
    int64_t ms = DEFAULT_MS;
    const char *during = options_value(cli->options, "for", NULL);
    if (during && (!duration_parse(str_from(during), &ms) || ms <= 0 || ms > LONGEST_MS))
        return cli_usage(cli, "invalid value '%s' for --for; expected " DURATION_SYNTAX ", at most 1m with --queues", during);
    int rc = queue_take(&cli->env, ms, &look, &err);
    if (rc < 0)
        return cli_fail("can't trace the queues: %s", err.text[0] ? err.text : "out of memory");
    if (cli->json)
        queues_json(&out, &look, ms);
    else
        queues_text(&out, &look, ms);
    return watch_write(cli, &out, stdout);
}
