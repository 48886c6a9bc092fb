/* SPDX-License-Identifier: Apache-2.0
 * whirr doctor: what whirr can see, what it can't, why, and what to fix.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "cli/cli_show.h"
#include "config/config.h"
#include "doctor/bundle.h"
#include "doctor/doctor.h"

enum { RATE_MS = 300 };

static int doctor_render(struct cli *cli, struct session *session, struct buf *out, struct error *err)
{
    AUTO_SNAPSHOT const struct snapshot *s = session_sample(session, GROUP_ALL, err);
    if (!s)
        return err->code;
    if (s->gpu_count) { /* rates need a second sample */
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
    doctor_read(&cli->env, s, facts);
    facts->guards_nothing = cli->settings && config_guards_nothing(cli->settings);
    doctor_judge(facts, s, findings);
    if (cli->json)
        doctor_json(AS_JSON(cli, out), facts, s, findings, described.at ? described.at : "");
    else
        doctor_text(out, &cli->page, facts, s, findings, described.at ? described.at : "");
    return 0;
}

static int doctor_run(struct cli *cli)
{
    const char *bundle = options_value(cli->options, "bundle", NULL);
    bool with_private = options_has(cli->options, "with-private");
    if (with_private && !bundle)
        return cli_usage(cli, "--with-private needs --bundle");
    if (bundle && strcmp(bundle, "-") != 0 && !str_ends(str_from(bundle), ".machine"))
        return cli_usage(cli,
                         "a bundle is one text file: name it FILE.machine (as in --bundle bug.machine), or - to read it first");
    const char *unpack = options_value(cli->options, "unpack", NULL);
    if (unpack && (bundle || cli->options->argument_count != 1))
        return cli_usage(cli, "--unpack FILE.machine needs a directory, and can't be combined with --bundle");
    if (unpack)
        return bundle_unpack(unpack, cli->options->arguments[0]);
    if (cli->options->argument_count)
        return cli_usage(cli, "unexpected argument '%s'; only --unpack takes a directory", cli->options->arguments[0]);
    cli->ask.direct = true; /* the report is about this user's permissions, not the daemon's */
    return bundle ? bundle_write(cli, bundle, with_private) : show(cli, doctor_render);
}

static const struct option_spec options[] = {
    {.name = "bundle",
     .argument = "FILE.machine",
     .complete = COMPLETE_FILE,
     .help = "Record this host for a bug report, as one readable text file; - shows it, and writes nothing"},
    {.name = "unpack",
     .argument = "FILE.machine",
     .complete = COMPLETE_FILE,
     .help = "Unpack a machine file into DIRECTORY, for --sysroot"},
    {.name = "with-private", .help = "Keep names, command lines, serial numbers and UUIDs in the bundle"},
};

const struct command command_doctor = {
    .name = "doctor",
    .group = HELP_EXPLAIN,
    .summary = "Check what whirr can and can't see, why, and how to fix it",
    .details = "The bundle holds the files of /sys and /proc that whirr reads, some samples from the drivers, and the report. Host "
               "and user names, serial numbers, container IDs and UUIDs are replaced and command lines are left out, unless "
               "--with-private is given. Unpack it to replay it with --sysroot.",
    .arguments = "[DIRECTORY]",
    .offers = {{.complete = COMPLETE_FOLDER}},
    .arguments_max = 1,
    OPTIONS(options),
    .examples = {{"whirr doctor", "what works, what doesn't, and how to fix it"},
                 {"whirr doctor --bundle bug.machine", "record this host as one text file, for a bug report"},
                 {"whirr doctor --unpack bug.machine bug && whirr --sysroot bug", "replay such a host"}},
    .any_socket = true,
    .lacks = "gpu",
    .run = doctor_run,
};
