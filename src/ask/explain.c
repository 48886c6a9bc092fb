/* SPDX-License-Identifier: Apache-2.0
 * Collects a short history from samples of this process if no daemon has one.
 */
#include "ask/explain.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "insight/facts/levels.h"
#include "insight/view/idle_audit.h"
#include "source/source.h"
#include "source/sysfs/sysfs_idle_audit.h"

enum { SAMPLES = 4, PAUSE_MS = 350 };

/* The drivers recorded the last seconds, so there is no need to wait. But a warm CPU may be the answer, and only watching shows
 * what it does. */
static bool knows_enough(const struct snapshot *now)
{
    if (cpu_is_warm(&now->host))
        return false;
    for (size_t i = 0; i < now->gpu_count; i++)
        if (now->gpus[i].state == GPU_OK && !now->gpus[i].before_count)
            return false;
    return true;
}

/* The last --source; "": none. */
static const char *source_of(const struct cli *cli)
{
    return cli->ask.source_count ? cli->ask.sources[cli->ask.source_count - 1] : "";
}

/* Audits the environment of the GPUs: only on this host, not for a recording of another one. */
static int look_around(struct cli *cli, const struct snapshot *now, struct why *why, struct error *err)
{
    if (!cli->ask.idle && !why_wants_audit(why))
        return 0;
    AUTO_FREE struct idle_facts *idle_facts = calloc(now->gpu_count + 1, sizeof *idle_facts);
    if (!idle_facts)
        return error_set(err, -ENOMEM, "out of memory");
    const struct source_ops *ops = source_of_spec(source_of(cli), NULL);
    if (!ops || !ops->recorded)
        idle_facts_read(&cli->env, now, idle_facts);
    why_audit(why, now, idle_facts);
    return 0;
}

const struct snapshot *sample_watched(struct session *session, struct error *err)
{
    bool watched = session_has_sampled(session);
    const struct snapshot *now = session_sample(session, GROUP_ALL, err);
    for (int i = 1; i < SAMPLES && now && !watched && !session_asks_daemon(session); i++) {
        pause_ms(PAUSE_MS);
        snapshot_unref(now);
        now = session_sample(session, GROUP_ALL, err);
    }
    return now;
}

int explain_now(struct cli *cli, struct session *session, const struct snapshot **ret_now, struct why **ret, struct error *err)
{
    bool watched = session_has_sampled(session);
    AUTO_SNAPSHOT const struct snapshot *now = session_sample(session, GROUP_ALL | GROUP_PAST, err);
    if (!now)
        return err->code;
    bool enough = watched || session_asks_daemon(session) || knows_enough(now);
    for (int i = 1; i < SAMPLES && now->gpu_count && !enough; i++) {
        pause_ms(PAUSE_MS);
        const struct snapshot *next = session_sample(session, i + 1 == SAMPLES ? GROUP_ALL : GROUP_QUICK, err);
        if (!next)
            return err->code;
        snapshot_unref(now);
        now = next;
    }
    struct why *why = session_why(session, now);
    if (!why)
        why = why_explain(now, NULL);
    if (!why)
        return error_set(err, -ENOMEM, "out of memory");
    int rc = look_around(cli, now, why, err);
    if (rc < 0) {
        why_free(why);
        return rc;
    }
    *ret = why;
    *ret_now = TAKE(now);
    return 0;
}
