/* SPDX-License-Identifier: Apache-2.0
 * Trying a way out.
 */
#include "guard/probe.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "guard/find.h"
#include "guard/way_checkpoint.h"

enum { VERIFY_MS = 5000, VERIFY_STEP_MS = 100 };
#define LEFT_OVER_BYTES (512LL * 1024 * 1024)

struct probe {
    const struct guard_options *options;
    struct finder *finder;
    struct claim_worker worker;
    const struct snapshot *snapshot;
    struct journal journal;
    struct journal_entry entry;
};

static enum worker_presence look(struct probe *p)
{
    struct claim_signals signals = {0};
    snapshot_unref(p->snapshot);
    p->snapshot = p->options->sample(p->options->user, -1);
    return finder_look(p->finder, p->snapshot, &p->worker, &signals);
}

static int64_t since(const struct probe *p, struct mono begin)
{
    return mono_since_ms(clock_mono(p->options->env->clock), begin);
}

static void wait_until_free(struct probe *p, struct probe_result *r)
{
    struct mono begin = clock_mono(p->options->env->clock);
    for (;;) {
        look(p);
        r->left_bytes = -1;
        if (p->snapshot)
            claim_worker_bytes(p->snapshot, &p->worker, &r->left_bytes);
        r->freed = r->left_bytes >= 0 && r->left_bytes <= MAX_OF(r->bytes / 10, MIN_OF(LEFT_OVER_BYTES, r->bytes / 2));
        r->verify_ms = since(p, begin);
        if (r->freed || r->verify_ms >= VERIFY_MS)
            return;
        poll(NULL, 0, VERIFY_STEP_MS);
    }
}

static int try_way(struct probe *p, const struct guard_spec *spec, const struct way *way, struct probe_result *r, struct error *err)
{
    struct way_context c = {.env = p->options->env,
                            .settings = &spec->settings,
                            .worker = &p->worker,
                            .snapshot = p->snapshot,
                            .journal = &p->journal,
                            .entry = &p->entry};
    r->way = way->name;
    p->entry = (struct journal_entry){.state = GUARD_EVICTING, .acted_count = 1, .bytes = r->bytes};
    str_copy(p->entry.acted[0], JOURNAL_NAME_SIZE, str_from(way->name));
    struct mono begin = clock_mono(p->options->env->clock);
    int rc = way_evict(way, &c, err);
    r->evict_ms = since(p, begin);
    if (rc < 0 && !p->entry.step[0])
        return rc; /* refused: nothing was done */
    if (rc == 0)
        wait_until_free(p, r);
    c.snapshot = p->snapshot;
    begin = clock_mono(p->options->env->clock);
    struct error back = {0};
    int resumed = way_resume(way, &c, rc < 0 ? &back : err);
    r->resume_ms = since(p, begin);
    r->resumed = resumed == 0;
    if (r->resumed)
        journal_write(&p->journal, &(struct journal_entry){.state = GUARD_RUNNING}, NULL);
    return rc < 0 ? rc : resumed;
}

int guard_probe(const struct guard_options *options, struct guard_spec *spec, struct probe_result *ret, struct error *err)
{
    *ret = (struct probe_result){.left_bytes = -1};
    AUTO_FREE struct probe *p = calloc(1, sizeof *p);
    if (!p || !(p->finder = finder_new(options->env, &spec->match, false)))
        return error_set(err, -ENOMEM, "out of memory");
    p->options = options;
    int rc = options->state_dir ? journal_open(&p->journal, options->state_dir, spec->name, err) : 0;
    if (rc == 0 && look(p) != WORKER_ALIVE)
        rc = error_set(err, -ESRCH, "the worker does not run");
    if (rc == 0 && !p->snapshot)
        rc = error_set(err, -EIO, "no source answered");
    if (rc == 0 && !claim_worker_bytes(p->snapshot, &p->worker, &ret->bytes))
        rc = error_set(err, -EIO, "the driver does not say how much memory the worker holds");
    ret->pid = p->worker.pid_count ? p->worker.pids[p->worker.pid_count - 1].pid : 0;
    for (size_t i = 0; rc == 0 && i < spec->way_count; i++) {
        rc = try_way(p, spec, &spec->ways[i], ret, err);
        bool refused = rc < 0 && !p->entry.step[0] && i + 1 < spec->way_count;
        if (!refused)
            break;
        rc = 0;
    }
    snapshot_unref(p->snapshot);
    finder_free(p->finder);
    return rc;
}
