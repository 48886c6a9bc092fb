/* SPDX-License-Identifier: Apache-2.0
 * whirr guard: workers under guard, in the foreground and in the daemon.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "ask/answers.h"
#include "ask/client.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json_reader.h"
#include "base/json_writer.h"
#include "base/words.h"
#include "cli/cli_show.h"
#include "cli/command.h"
#include "cli/guard/guard.h"
#include "config/config.h"
#include "guard/cuda.h"

#define GUARD_NEXT_STEP "To guard a program that is running: whirr guard attach PID|URL; to start one: whirr guard run -- COMMAND"

/* ---- one paragraph a worker: its state, the reason, and problems ---- */

static enum ink text_ink_of(const char *state)
{
    if (strcmp(state, "running") == 0)
        return INK_GOOD;
    return strcmp(state, "absent") == 0 ? INK_FAINT : INK_WARN;
}

static void worker_text(struct buf *out, const struct page *page, const json_t *worker)
{
    const char *state = json_text(worker, "state"), *method = json_text(worker, "method"), *problem = json_text(worker, "problem");
    int64_t pid = json_integer_value(json_object_get(worker, "pid"));
    page_ink(out, page, INK_STRONG, str_from(json_text(worker, "name")));
    buf_text(out, "  ");
    page_ink(out, page, text_ink_of(state), str_from(state));
    if (json_is_true(json_object_get(worker, "held")))
        buf_text(out, ", held");
    if (json_is_true(json_object_get(worker, "throttled")))
        buf_text(out, ", throttled");
    if (method[0])
        buf_printf(out, ", off the GPU through %s", method);
    if (json_is_true(json_object_get(worker, "idle")))
        buf_text(out, ", idle: the next request brings it back");
    struct wall back;
    if (wall_parse(str_from(json_text(worker, "resumes_at")), &back)) {
        char left[WORDS_SIZE];
        buf_printf(out, ", resumes in %s", words_duration(MAX_OF(back.ms - clock_wall(&clock_system).ms, (int64_t)0), left));
    }
    if (json_is_true(json_object_get(worker, "dry_run")))
        buf_text(out, " (dry run)");
    buf_char(out, '\n');
    char held[WORDS_SIZE];
    AUTO_BUF struct buf line = BUF(2048);
    const json_t *memory = json_object_get(worker, "memory_mb");
    buf_text(&line, json_text(worker, "reason"));
    if (json_is_number(memory))
        buf_printf(&line, "; %s%s", words_bytes((int64_t)(json_number_value(memory) * 1048576), held),
                   method[0] ? " to come back" : " held");
    else
        buf_text(&line, "; what it holds can't be read");
    if (pid)
        buf_printf(&line, ", pid %lld", (long long)pid);
    struct wall asked;
    if (!method[0] && wall_parse(str_from(json_text(worker, "last_asked_at")), &asked)) {
        char ago[WORDS_SIZE], after[WORDS_SIZE];
        buf_printf(&line, ", last asked %s ago (unloaded after %s)",
                   words_duration(MAX_OF(clock_wall(&clock_system).ms - asked.ms, (int64_t)0) / 1000 * 1000, ago),
                   words_duration((int64_t)(json_number_value(json_object_get(worker, "idle_after_seconds")) * 1000), after));
    }
    int64_t times = json_integer_value(json_object_get(worker, "evictions_total"));
    if (times == 1)
        buf_text(&line, ", evicted once");
    else if (times)
        buf_printf(&line, ", evicted %lld times", (long long)times);
    buf_text(out, "  ");
    page_wrap(out, page, INK_PLAIN, line.at ? line.at : "", 2, 2);
    if (problem[0]) {
        buf_text(out, "  ");
        page_wrap(out, page, INK_WARN, problem, 2, 2);
    }
}

static void guard_text(struct buf *out, const struct page *page, const json_t *workers)
{
    size_t i;
    json_t *worker;
    bool simulated = false;
    json_array_foreach(workers, i, worker) simulated |= json_is_true(json_object_get(worker, "simulated"));
    page_simulated_line(out, page, simulated);
    json_array_foreach(workers, i, worker) worker_text(out, page, worker);
    if (json_array_size(workers) == 0)
        buf_text(out, "No worker is under guard.\n" GUARD_NEXT_STEP "\n");
}

enum { WAIT_DEFAULT_MS = 120000, WAIT_POLL_MS = 100, RESERVING_IS_LONG_MS = 3000 };

static int print_workers(const struct cli *cli, const json_t *workers)
{
    AUTO_BUF struct buf out = BUF(4 << 20);
    if (cli->json) {
        AUTO_FREE char *text = json_dumps(workers, JSON_INDENT(2) | JSON_PRESERVE_ORDER);
        buf_printf(&out, "{\"workers\": %s}\n", text ? text : "[]");
    } else {
        guard_text(&out, &cli->page, workers);
    }
    return show_text(&out);
}

/* The first of this name; NULL: there is none. */
static const json_t *find_worker(const json_t *workers, const char *name)
{
    size_t i;
    json_t *worker;
    json_array_foreach(workers, i, worker) if (strcmp(json_text(worker, "name"), name) == 0) return worker;
    return NULL;
}

/* Those of this name (NULL: all): several guards may have one. Takes over the list. */
static json_t *only(json_t *workers, const char *name)
{
    json_t *kept = json_array(), *worker;
    size_t i;
    json_array_foreach(workers, i, worker) if (!name || strcmp(json_text(worker, "name"), name) == 0)
        json_array_append(kept, worker);
    json_decref(workers);
    return kept;
}

/* `name` NULL: any worker. */
static bool has_worker(const json_t *workers, const char *name)
{
    return name ? find_worker(workers, name) != NULL : json_array_size(workers) > 0;
}

/* Reports an unknown name and suggests the nearest one. */
static int unknown_worker(const json_t *workers, const char *name)
{
    struct nearest n;
    char hint[NEAREST_SIZE + 32];
    size_t i;
    json_t *worker;
    nearest_init(&n, name);
    json_array_foreach((json_t *)workers, i, worker) nearest_try(&n, json_text(worker, "name"));
    return cli_fail("no worker '%s' is under guard%s\n%s", name, nearest_text(&n, hint, sizeof hint),
                    json_array_size(workers) ? "To list them: whirr guard" : GUARD_NEXT_STEP);
}

static int status(struct cli *cli, const char *name)
{
    char problem[512];
    size_t asked;
    AUTO_JSON json_t *all = guard_ask(cli, "GET", "/api/guard", NULL, &asked, problem, sizeof problem);
    AUTO_JSON json_t *workers = only(json_incref(all), name);
    if (!asked && problem[0])
        return cli_fail("%s", problem);
    if (problem[0])
        fprintf(stderr, "whirr: %s\n", problem);
    int result = name && json_array_size(workers) == 0 ? unknown_worker(all, name) : print_workers(cli, workers);
    if (!name && json_array_size(workers) == 0 && !cli->host && cli->settings && config_guards_nothing(cli->settings))
        fprintf(stderr, "whirr: " GUARDS_NOTHING ": " GUARDS_NOTHING_FIX "\n");
    return result;
}

/* ---- evict, hold, resume: wait for the result ---- */

enum outcome { OUTCOME_PENDING, OUTCOME_DONE, OUTCOME_FAILED };

static int64_t failures_of(const json_t *worker)
{
    return json_integer_value(json_object_get(worker, "failures_total"));
}

static enum outcome outcome_of(const json_t *worker, bool off, int64_t failures_before, int64_t waited_ms)
{
    const char *state = json_text(worker, "state");
    bool failed = failures_of(worker) > failures_before;
    if (!state[0] || strcmp(state, "absent") == 0)
        return OUTCOME_DONE; /* nothing holds memory */
    if (off) {
        bool paused = strcmp(state, "paused") == 0 && json_is_true(json_object_get(worker, "held"));
        if (json_is_true(json_object_get(worker, "gave_up")) && failed)
            return OUTCOME_FAILED;
        return !paused                                                      ? OUTCOME_PENDING
               : json_is_true(json_object_get(worker, "memory_still_held")) ? OUTCOME_FAILED
                                                                            : OUTCOME_DONE;
    }
    if (strcmp(state, "paused") == 0 && failed)
        return OUTCOME_FAILED;
    /* Waiting for memory may take as long as a game runs. */
    bool waits = strcmp(state, "reserving") == 0 && waited_ms >= RESERVING_IS_LONG_MS;
    return strcmp(state, "running") == 0 || waits ? OUTCOME_DONE : OUTCOME_PENDING;
}

/* Waits until all workers are done or can't be, or the time is over; returns their final state. */
static json_t *wait_done(struct cli *cli, const char *name, bool off, const json_t *before, int64_t wait_ms, bool *failed)
{
    struct mono begin = clock_mono(&clock_system);
    for (;;) {
        char problem[512];
        size_t asked, i;
        int64_t waited_ms = mono_since_ms(clock_mono(&clock_system), begin);
        json_t *worker, *workers = only(guard_ask(cli, "GET", "/api/guard", NULL, &asked, problem, sizeof problem), name);
        bool pending = problem[0] != '\0'; /* a guard did not answer in time: its outcome is unknown */
        *failed = false;
        json_array_foreach(workers, i, worker)
        {
            int64_t failures = failures_of(find_worker(before, json_text(worker, "name")));
            enum outcome o = outcome_of(worker, off, failures, waited_ms);
            pending |= o == OUTCOME_PENDING;
            *failed |= o == OUTCOME_FAILED;
        }
        if (!pending || waited_ms >= wait_ms) {
            *failed |= pending;
            return workers;
        }
        json_decref(workers);
        pause_ms(WAIT_POLL_MS);
    }
}

/* Names each guard that got the request, once. */
static void print_guards(const json_t *workers)
{
    for (size_t i = 0; i < json_array_size(workers); i++) {
        const char *place = json_text(json_array_get(workers, i), "guarded_by");
        bool said = !place[0];
        for (size_t k = 0; k < i && !said; k++)
            said = strcmp(json_text(json_array_get(workers, k), "guarded_by"), place) == 0;
        if (!said)
            printf("Guarded by %s.\n", place);
    }
}

/* False if only a daemon of another user is running, which needs an explanation. */
static bool may_act(const struct cli *cli)
{
    struct client *client = NULL;
    struct error err = {0};
    int rc = act_open(cli, &client, &err);
    client_close(client);
    return rc != -EPERM;
}

static int guard_act(struct cli *cli, const char *what, const char *name)
{
    const char *sampling = sampling_option(cli);
    char path[64], problem[512];
    size_t asked;
    struct error err = {0};
    int64_t wait_ms = WAIT_DEFAULT_MS;
    bool off = strcmp(what, "evict") == 0 || strcmp(what, "hold") == 0, failed = false;
    if (sampling)
        return cli_usage(cli, "'guard %s' acts on running guards: it can't be combined with %s", what, sampling);
    if (options_seconds(cli->options, "wait", &wait_ms, &err) < 0)
        return cli_usage(cli, "%s", err.text);
    AUTO_JSON json_t *before = guard_ask(cli, "GET", "/api/guard", NULL, &asked, problem, sizeof problem);
    if (asked && !problem[0] && !has_worker(before, name) && may_act(cli))
        return name ? unknown_worker(before, name) : cli_fail("nothing to %s: no worker is under guard\n" GUARD_NEXT_STEP, what);
    if (asked && options_has(cli->options, "dry-run")) {
        AUTO_BUF struct buf names = BUF(64 << 10);
        json_t *mine = only(json_incref(before), name), *worker;
        size_t i;
        json_array_foreach(mine, i, worker)
            buf_printf(&names, "%s%s (%s)", i ? ", " : "", json_text(worker, "name"), json_text(worker, "state"));
        json_decref(mine);
        return show_would(cli, "%s %s", what, names.at ? names.at : "nothing");
    }
    AUTO_BUF struct buf body = BUF(1024);
    struct json_writer j = JSON_WRITER(&body);
    jw_object(&j);
    if (name)
        jw_key_text(&j, "worker", name);
    jw_end(&j);
    snprintf(path, sizeof path, "/api/guard/%s", what);
    json_t *workers = only(guard_ask(cli, "POST", path, body.at, &asked, problem, sizeof problem), name);
    if (asked && !options_has(cli->options, "no-wait") && (off || strcmp(what, "resume") == 0)) {
        json_decref(workers);
        workers = wait_done(cli, name, off, before, wait_ms, &failed);
    }
    int result =
        asked ? print_workers(cli, workers)
              : cli_fail("%s%s", problem[0] ? problem : "no guard is running", json_array_size(before) ? "" : "\n" GUARD_NEXT_STEP);
    if (asked && !cli->json)
        print_guards(workers);
    json_decref(workers);
    if (failed && result == EXIT_FINE)
        return cli_fail(off ? "the memory is not free" : "some workers are not back");
    return result;
}

static int guard_run(struct cli *cli)
{
    static const char *const words[] = {"status", "hold", "release", "evict", "resume", "run", "attach", "probe"};
    const char *const *arguments = cli->options->arguments;
    size_t count = cli->options->argument_count;
    const char *word = count ? arguments[0] : "status";
    if (cli->host && (strcmp(word, "run") == 0 || strcmp(word, "attach") == 0 || strcmp(word, "probe") == 0))
        return cli_usage(cli, "'guard %s' works on this host only, not with --host", word);
    if (strcmp(word, "run") == 0)
        return count > 1 ? guard_front_run(cli, arguments + 1) : cli_usage(cli, "'guard run' needs -- COMMAND...");
    if (count > 2)
        return cli_usage(cli, "'guard %s' does not take '%s'", word, arguments[2]);
    const char *what = count > 1 ? arguments[1] : NULL;
    if (strcmp(word, "status") == 0)
        return status(cli, what);
    if (strcmp(word, "attach") == 0 || strcmp(word, "probe") == 0) {
        if (!what)
            return cli_usage(cli, "'guard %s' needs a PID, a unit, a URL or a name", word);
        return strcmp(word, "attach") == 0 ? guard_front_attach(cli, what) : guard_probe_command(cli, what);
    }
    for (size_t i = 1; i < 5; i++)
        if (strcmp(word, words[i]) == 0)
            return guard_act(cli, word, what);
    return cli_unknown(cli, "subcommand", word, words, ARRAY_LEN(words));
}

static const char *const profiles[] = {"desktop", "server", NULL};
static const char *const claims[] = {"needs", "any", NULL};

static const struct option_spec options[] = {
    {.name = "method",
     .argument = "METHOD",
     .help = "How memory is freed (may be repeated, tried in order): checkpoint, process, ollama, ..."},
    {.name = "way", .argument = "METHOD", .hidden = true, .help = "The old name of --method"},
    {.name = "url", .argument = "URL", .help = "The worker's HTTP API"},
    {.name = "name", .argument = "NAME", .help = "Name of the worker (default: the program's)"},
    {.name = "interval", .argument = "SECONDS", .help = "Seconds between checks for other processes (default: 5)"},
    {.name = "profile", .argument = "PROFILE", .values = profiles, .help = "desktop: shared with a person; server: health only"},
    {.name = "claim",
     .argument = "WHO",
     .values = claims,
     .help = "needs: only a process that needs the GPU evicts the worker; any: every process does"},
    {.name = "idle-after",
     .argument = "DURATION",
     .help = "Unload it after this long without a request; the next one loads it again"},
    {.name = "clear-for", .argument = "DURATION", .help = "How long the GPU must be free before the worker returns (default: 30s)"},
    {.name = "minimum-pause", .argument = "DURATION", .help = "Minimum length of a pause (default: 30s)"},
    {.name = "gate",
     .argument = "ADDR:PORT",
     .help = "Listen here in front of the worker, and hold new requests while it is paused"},
    {.name = "wait", .argument = "SECONDS", .help = "How long evict, hold and resume wait (default: 120)"},
    {.name = "no-wait", .help = "Don't wait"},
    {OPTION_DRY_RUN},
};

const struct command command_guard = {
    .exits = "0 done; 1 it failed: memory is not free, or a worker is not back; 2 wrong usage or configuration. With run: the "
             "program's own.",
    .name = "guard",
    .group = HELP_ACT,
    .summary = "Free the GPU on demand, and bring AI workers back afterwards",
    .details = "Subcommands: run -- COMMAND..., attach PID|UNIT|URL, status, hold, release, evict and resume [NAME], probe "
               "PID|NAME. hold and evict keep a worker off the GPU until release or resume, and wait until its memory is free "
               "(exit status 1: it isn't); resume brings it back as soon as there is room, even while something else needs the "
               "GPU.\n\nThe method `checkpoint` uses the CUDA driver's checkpoint calls: NVIDIA does not promise that a process "
               "survives a failed one. Try `whirr guard probe` first, at a moment when losing the process would not matter.",
    .arguments = "[status|run|attach|hold|release|evict|resume|probe] [WHAT] [-- COMMAND...]",
    .arguments_max = ARGUMENTS_MAX,
    OPTIONS(options),
    .examples = {{"whirr guard run --method checkpoint -- llama-server -m model.gguf",
                  "a worker that makes room for games and other jobs"},
                 {"whirr guard attach http://127.0.0.1:11434 --method ollama", "guard an Ollama that is already running"},
                 {"whirr guard evict && render scene.blend; whirr guard resume", "evict it yourself"}},
    .remote = true,
    .run = guard_run,
};

/* ---- one call into the CUDA driver, in a process that can be killed: the guard starts it, not people ---- */

static int guard_cuda_helper_run(struct cli *cli)
{
    char *argv[4] = {(char *)"cuda-helper"};
    for (size_t i = 0; i < 3; i++)
        argv[i + 1] = (char *)cli->options->arguments[i];
    return cuda_helper_main(&cli->env, 4, argv);
}

const struct command command_cuda_helper = {
    .alone = true,
    .name = "cuda-helper",
    .summary = "One call into the CUDA driver, for the guard",
    .arguments = "CALL PID TIMEOUT_MS",
    .arguments_min = 3,
    .arguments_max = 3,
    .hidden = true,
    .run = guard_cuda_helper_run,
};
