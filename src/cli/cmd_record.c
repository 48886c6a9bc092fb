/* SPDX-License-Identifier: Apache-2.0
 * whirr record: saves samples of the GPUs to a file that `--source replay:FILE` plays.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cli/cli_show.h"
#include "format/record.h"

enum { INTERVAL_DEFAULT_MS = 1000 };

/* Waits until `until`; true if a signal asks to end. The signals are blocked, so none is lost in between. */
static bool told_to_end(struct mono until)
{
    sigset_t ends;
    sigemptyset(&ends);
    sigaddset(&ends, SIGINT);
    sigaddset(&ends, SIGTERM);
    sigaddset(&ends, SIGHUP);
    pthread_sigmask(SIG_BLOCK, &ends, NULL);
    int64_t left_ns = until.ns - clock_mono(&clock_system).ns;
    struct timespec left = {0};
    if (left_ns > 0)
        left = (struct timespec){.tv_sec = left_ns / NS_PER_S, .tv_nsec = left_ns % NS_PER_S};
    int got;
    do
        got = sigtimedwait(&ends, NULL, &left);
    while (got < 0 && errno == EINTR);
    return got > 0;
}

static int record(struct cli *cli, struct session *session, struct recorder *recorder, int64_t every_ms, int64_t duration_ms)
{
    struct error err = {0};
    struct mono next = clock_mono(&clock_system), end = {next.ns + duration_ms * NS_PER_MS};
    bool report = isatty(STDERR_FILENO) && !options_has(cli->options, "quiet");
    for (;;) {
        AUTO_SNAPSHOT const struct snapshot *s = session_sample(session, GROUP_ALL, &err);
        if (!s || recorder_add(recorder, s, &err) < 0)
            return cli_fail("%s", err.text);
        if (report)
            fprintf(stderr, "\r%" PRIu64 " samples, %" PRIu64 " KiB, Ctrl+C stops ", recorder_samples(recorder),
                    recorder_bytes(recorder) / 1024);
        next.ns = MAX_OF(next.ns + every_ms * NS_PER_MS, clock_mono(&clock_system).ns);
        if (duration_ms && next.ns >= end.ns)
            break;
        if (told_to_end(next))
            break;
    }
    if (report)
        fputc('\n', stderr);
    return EXIT_FINE;
}

static int record_run(struct cli *cli)
{
    struct error err = {0};
    const char *path = cli->options->arguments[0];
    int64_t every_ms = INTERVAL_DEFAULT_MS, duration_ms = 0;
    if (options_seconds(cli->options, "interval", &every_ms, &err) < 0 ||
        options_seconds(cli->options, "duration", &duration_ms, &err) < 0)
        return cli_usage(cli, "%s", err.text);
    cli->ask.direct = true;        /* every sample must be new */
    told_to_end((struct mono){0}); /* block signals before threads start and inherit the mask */
    struct session *session = session_open(cli, &err);
    if (!session)
        return cli_error(cli, &err);
    session_set_max_age(session, every_ms / 2);
    struct recorder *recorder = recorder_open(path, &err);
    int status = EXIT_FAILED;
    if (recorder) {
        status = record(cli, session, recorder, every_ms, duration_ms);
        uint64_t samples = recorder_samples(recorder), bytes = recorder_bytes(recorder);
        if (recorder_close(recorder, &err) < 0)
            status = cli_fail("%s", err.text);
        else if (status == EXIT_FINE && !options_has(cli->options, "quiet"))
            fprintf(stderr, "%s: %" PRIu64 " samples added, %" PRIu64 " bytes; replay it with `whirr --source replay:%s`\n", path,
                    samples, bytes, path);
    } else {
        cli_fail("%s", err.text);
    }
    session_close(session);
    return status;
}

static const struct option_spec options[] = {
    {.name = "interval", .argument = "SECONDS", .help = "Time between samples (default: 1)"},
    {.name = "duration", .argument = "SECONDS", .help = "Stop after this time (default: at Ctrl+C)"},
    {.name = "quiet", .letter = 'q', .help = "Don't report progress"},
};

const struct command command_record = {
    .name = "record",
    .group = HELP_RUN,
    .summary = "Record the GPUs to a file that can be replayed",
    .details = "An existing recording is continued. Command lines, user and host names are in it, with secrets masked; only its "
               "owner can read the file.",
    .arguments = "FILE",
    .offers = {{.complete = COMPLETE_FILE}},
    .arguments_min = 1,
    .arguments_max = 1,
    OPTIONS(options),
    .examples = {{"whirr record night.whirr", "a sample every second, until Ctrl+C"},
                 {"whirr record run.whirr --interval 0.2 --duration 60", "five samples a second, for a minute"},
                 {"whirr --source replay:night.whirr --watch", "replay it"}},
    .lacks = "json gpu",
    .run = record_run,
};
