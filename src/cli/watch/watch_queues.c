/* SPDX-License-Identifier: Apache-2.0
 * Who waits for whom in the queues of a GPU, traced for a moment (--queues).
 */
#include <stdio.h>

#include "base/json_writer.h"
#include "base/words.h"
#include "cli/watch/watch.h"
#include "format/json/json.h"
#include "host/gpu_queue.h"

static void queues_json(struct buf *out, const struct queue_look *l, int64_t ms)
{
    struct json_writer j = JSON_WRITER_PRETTY(out);
    jw_object(&j);
    jw_key_number(&j, "over_seconds", (double)ms / MS_PER_S);
    jw_key_int(&j, "jobs", l->jobs);
    jw_key_int(&j, "events_lost", l->lost);
    jw_key(&j, "waits");
    jw_array(&j);
    for (size_t i = 0; i < l->count; i++) {
        const struct queue_pair *p = &l->pairs[i];
        jw_object(&j);
        jw_key_int(&j, "thread", p->waiter);
        jw_key_text(&j, "name", p->waiter_name);
        jw_key_int(&j, "waits_for_thread", p->holder);
        jw_key_text(&j, "waits_for_name", p->holder_name);
        json_words(&j, "pci_address", p->device);
        jw_key_text(&j, "ring", p->ring);
        jw_key_int(&j, "jobs", p->jobs);
        jw_key_number(&j, "waited_seconds", (double)p->waited_ns / 1e9);
        jw_end(&j);
    }
    jw_end(&j);
    jw_end(&j);
    buf_char(out, '\n');
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
        buf_printf(out, "No thread waited for another one: %lld jobs in %s.\n", (long long)l->jobs, over);
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
        return cli_fail("can't look at the queues: %s", err.text[0] ? err.text : "out of memory");
    if (cli->json)
        queues_json(&out, &look, ms);
    else
        queues_text(&out, &look, ms);
    return watch_write(cli, &out, stdout);
}
