/* SPDX-License-Identifier: Apache-2.0
 * Sampling by ourselves through the engine.
 */
#include "cli/session.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "engine/engine.h"
#include "format/json.h"

/* A driver that hangs is given up by the engine after 5 s; the answer then still names it. */
enum { ANSWER_WITHIN_MS = 8000 };

struct session {
    struct cli *cli;
    struct engine *engine;
    const char *sources[SOURCES_MAX];
    size_t source_count;
    char replay[PATH_SIZE + 8];
};

static int gather_sources(struct session *s, struct error *err)
{
    const struct options *o = &s->cli->options;
    for (size_t i = 0; i < o->given_count; i++) {
        if (strcmp(o->given[i].spec->name, "source") != 0)
            continue;
        if (s->source_count == SOURCES_MAX)
            return error_set(err, -EINVAL, "more than %d times '--source'", SOURCES_MAX);
        s->sources[s->source_count++] = o->given[i].value;
    }
    return 0;
}

struct session *session_open(struct cli *cli, struct error *err)
{
    struct session *s = calloc(1, sizeof *s);
    if (!s) {
        error_set(err, -ENOMEM, "out of memory");
        return NULL;
    }
    s->cli = cli;
    if (gather_sources(s, err) < 0)
        goto failed;
    struct engine_options options = {
        .env = &cli->env,
        .sources = s->source_count ? s->sources : NULL,
        .source_count = s->source_count,
        .show_secrets = options_has(&cli->options, "show-secrets"),
    };
    s->engine = engine_new(&options, err);
    if (!s->engine)
        goto failed;
    return s;

failed:
    session_close(s);
    return NULL;
}

void session_close(struct session *s)
{
    if (!s)
        return;
    engine_free(s->engine);
    free(s);
}

const struct snapshot *session_sample(struct session *s, unsigned groups, struct error *err)
{
    const struct snapshot *snapshot = engine_sample(s->engine, groups, 0, ANSWER_WITHIN_MS);
    if (!snapshot)
        error_set(err, -ETIMEDOUT, "no source answered within %d s", ANSWER_WITHIN_MS / MS_PER_S);
    return snapshot;
}

int session_only(struct session *s, const struct snapshot *snapshot, int *ret_only, struct error *err)
{
    const char *which = options_value(&s->cli->options, "gpu", NULL);
    if (!which) {
        *ret_only = ALL_GPUS;
        return 0;
    }
    int found = snapshot_find_gpu(snapshot, which);
    if (found >= 0) {
        *ret_only = found;
        return 0;
    }
    if (snapshot->gpu_count == 0)
        return error_set(err, -ENODEV, "no GPU matches '%s': none was found on this host", which);
    if (snapshot->gpu_count == 1)
        return error_set(err, -ENODEV, "no GPU matches '%s': there is one, with index %d", which, snapshot->gpus[0].index);
    return error_set(err, -ENODEV, "no single GPU matches '%s': indexes go from %d to %d, see `whirr devices`", which,
                     snapshot->gpus[0].index, snapshot->gpus[snapshot->gpu_count - 1].index);
}

void session_describe(struct session *s, struct buf *out)
{
    engine_describe(s->engine, out, ANSWER_WITHIN_MS);
}
