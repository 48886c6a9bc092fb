/* SPDX-License-Identifier: Apache-2.0
 * whirr why: why is my GPU fan running?
 */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "cli/show.h"
#include "format/json.h"
#include "format/json_why.h"
#include "format/table.h"
#include "model/recent.h"

/* Alone, without a daemon that remembers: a little past of our own. */
enum { SAMPLES = 4, PAUSE_MS = 350 };

static void cleanup_why(struct why **why)
{
    why_free(*why);
}

static void cleanup_recent(struct recent **recent)
{
    if (*recent)
        recent_done(*recent);
    free(*recent);
}

static int render(struct cli *cli, struct session *session, struct buf *out, struct error *err)
{
    __attribute__((cleanup(cleanup_recent))) struct recent *past = calloc(1, sizeof *past);
    if (!past)
        return error_set(err, -ENOMEM, "out of memory");
    AUTO_SNAPSHOT const struct snapshot *now = session_sample(session, GROUP_ALL, err);
    if (!now)
        return err->code;
    __attribute__((cleanup(cleanup_why))) struct why *why = session_why(session, now);
    recent_add(past, NULL, now);
    for (int i = 1; i < SAMPLES && now->gpu_count && !why; i++) {
        pause_ms(PAUSE_MS);
        const struct snapshot *next = session_sample(session, i + 1 == SAMPLES ? GROUP_ALL : GROUP_QUICK, err);
        if (!next)
            return err->code;
        recent_add(past, now, next);
        snapshot_unref(now);
        now = next;
    }
    int only;
    if (session_only(session, now, &only, err) < 0)
        return err->code;
    if (!why)
        why = why_explain(now, past);
    if (!why)
        return error_set(err, -ENOMEM, "out of memory");
    if (cli->json) {
        struct json_writer j = show_json(cli, out);
        json_why(&j, now, why, only);
        buf_char(out, '\n');
    } else {
        table_why(out, &cli->page, now, why, only);
    }
    return 0;
}

static int run(struct cli *cli)
{
    return show(cli, render);
}

static const struct option_spec options[] = {
    {.name = "watch", .letter = 'w', .argument = "SECONDS", .optional = true, .help = "Again and again (default: every 2 seconds)"},
};

static const struct example examples[] = {
    {"whirr why", "why is the fan running, why is it hot, why is it slow"},
    {"whirr why --gpu 1", "the same for one GPU"},
    {"whirr why --json | jq '.gpus[].causes[0]'", "the most likely cause as data"},
    {"whirr --source sim:scenario=overheat why", "an answer to look at without a GPU"},
};

const struct command command_why = {
    .name = "why",
    .summary = "Why the fan runs: a sentence, the evidence, and what could be done",
    .details =
        "Weighs fan, heat, power, clocks, load and processes against each other and against the card's own limits. It watches "
        "for about one second.",
    .options = options,
    .option_count = ARRAY_LEN(options),
    .examples = examples,
    .example_count = ARRAY_LEN(examples),
    .run = run,
};
