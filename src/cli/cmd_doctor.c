/* SPDX-License-Identifier: Apache-2.0
 * whirr doctor: what whirr can see, what it cannot, why, and what to fix.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "cli/doctor.h"
#include "cli/show.h"

enum { RATE_MS = 300 };

static int render(struct cli *cli, struct session *session, struct buf *out, struct error *err)
{
    AUTO_SNAPSHOT const struct snapshot *s = session_sample(session, GROUP_ALL, err);
    if (!s)
        return err->code;
    if (s->gpu_count) { /* rates are there with the second sample */
        pause_ms(RATE_MS);
        snapshot_unref(s);
        s = session_sample(session, GROUP_ALL, err);
        if (!s)
            return err->code;
    }
    AUTO_FREE struct doctor_facts *facts = malloc(sizeof *facts);
    AUTO_FREE struct findings *findings = malloc(sizeof *findings);
    if (!facts || !findings)
        return error_set(err, -ENOMEM, "out of memory");
    AUTO_BUF struct buf described = BUF(1024 * 1024);
    session_describe(session, &described);
    doctor_look(&cli->env, s, facts);
    doctor_judge(facts, s, findings);
    if (cli->json) {
        struct json_writer j = show_json(cli, out);
        doctor_json(&j, facts, s, findings, described.at ? described.at : "");
        buf_char(out, '\n');
    } else {
        doctor_text(out, &cli->page, facts, s, findings, described.at ? described.at : "");
    }
    return 0;
}

static int run(struct cli *cli)
{
    return show(cli, render);
}

static const struct example examples[] = {
    {"whirr doctor", "what can be seen, what cannot, and what to fix"},
    {"whirr doctor --json | jq '.findings'", "the findings as data"},
};

const struct command command_doctor = {
    .name = "doctor",
    .summary = "Tell what whirr can see, what it cannot, why, and what to fix",
    .examples = examples,
    .example_count = ARRAY_LEN(examples),
    .run = run,
};
