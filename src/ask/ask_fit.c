/* SPDX-License-Identifier: Apache-2.0
 * Free memory according to the drivers, the daemon and the guards in the foreground.
 */
#include "ask/ask_fit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ask/answers.h"
#include "base/cleanup.h"
#include "format/capacity.h"
#include "format/health.h"
#include "insight/verdict/health.h"

static void add_hold(struct capacity_hold *holds, size_t *count, const struct capacity_hold *one)
{
    for (size_t i = 0; i < *count; i++)
        if (strcmp(holds[i].worker, one->worker) == 0 && holds[i].gpu_index == one->gpu_index)
            return;
    if (*count < CAPACITY_HOLDS_MAX)
        holds[(*count)++] = *one;
}

/* Guards in the foreground report a worker's memory as a sum over its GPUs, so only workers on a single GPU count. */
static void ask_guards(struct cli *cli, struct capacity_hold *holds, size_t *count, bool *known)
{
    char problem[256];
    size_t asked = 0;
    if (cli->ask.source_count || env_is_recorded(&cli->env))
        return; /* GPUs of another host */
    AUTO_JSON json_t *workers = guard_ask(cli, "GET", "/api/guard", NULL, &asked, problem, sizeof problem);
    *known = *known || asked > 0;
    for (size_t i = 0; i < json_array_size(workers); i++) {
        const json_t *w = json_array_get(workers, i), *gpus = json_object_get(w, "gpus");
        const char *name = json_string_value(json_object_get(w, "name")), *state = json_string_value(json_object_get(w, "state"));
        double mib = json_number_value(json_object_get(w, "memory_mb"));
        if (!name || !state || strcmp(state, "running") != 0 || json_array_size(gpus) != 1 || mib <= 0 || mib > 1e9)
            continue;
        struct capacity_hold hold = {.gpu_index = (int)json_integer_value(json_array_get(gpus, 0)),
                                     .bytes = (int64_t)(mib * (1 << 20)),
                                     .evictable = !json_is_true(json_object_get(w, "gave_up")) &&
                                                  !json_is_true(json_object_get(w, "dry_run"))};
        str_copy(hold.worker, sizeof hold.worker, str_from(name));
        add_hold(holds, count, &hold);
    }
}

/* Only the daemon knows the past minimum of free memory, and lasting problems of a GPU. */
static void take_told(struct capacity *c, const struct capacity *past)
{
    for (size_t i = 0; i < c->gpu_count; i++)
        for (size_t k = 0; k < past->gpu_count; k++) {
            if (c->gpus[i].index != past->gpus[k].index || c->gpus[i].instance != past->gpus[k].instance)
                continue;
            c->gpus[i].least_hour_bytes = past->gpus[k].least_hour_bytes;
            c->gpus[i].least_day_bytes = past->gpus[k].least_day_bytes;
            c->gpus[i].watched_ms = past->gpus[k].watched_ms;
            if (c->gpus[i].usable && !past->gpus[k].usable) {
                c->gpus[i].usable = false;
                memcpy(c->gpus[i].problem, past->gpus[k].problem, sizeof c->gpus[i].problem);
            }
        }
}

struct capacity *fit_capacity(struct cli *cli, struct session *session, const struct snapshot *s, int64_t reserve_bytes)
{
    AUTO_BUF struct buf answer = BUF(8 << 20);
    AUTO_FREE struct capacity *told = NULL;
    AUTO_FREE struct capacity_hold *holds = calloc(CAPACITY_HOLDS_MAX, sizeof *holds);
    struct capacity_settings settings = {.reserve_bytes = reserve_bytes};
    size_t count = 0;
    if (!holds)
        return NULL;
    if (session_get(session, "/api/capacity", &answer) == 200)
        told = capacity_from_json(buf_view(&answer));
    bool known = told && told->guard_known;
    if (told && told->gpu_count)
        settings.reserve_bytes = told->gpus[0].reserve_bytes;
    for (size_t i = 0; told && i < told->hold_count; i++)
        add_hold(holds, &count, &told->holds[i]);
    ask_guards(cli, holds, &count, &known);
    struct capacity *c = capacity_new(s, &settings, known ? holds : NULL, count);
    if (c && told)
        take_told(c, told);
    else if (c && !cli->host) {
        struct health_basis basis;
        struct health *health = session_health(session, &basis);
        capacity_exclude(c, health);
        health_free(health);
    }
    return c;
}

void fit_doubt(const struct model_need *need, struct placement *p)
{
    if (need->complete || p->verdict != PLACEMENT_FITS)
        return;
    p->verdict = PLACEMENT_UNKNOWN;
    p->missing_bytes = -1;
    p->evicted_count = p->copy_count = 0;
    char reason[PLACEMENT_REASON_SIZE];
    snprintf(reason, sizeof reason, "the weights alone fit, but %s", need->notes);
    str_copy(p->reason, sizeof p->reason, str_from(reason));
}
