/* SPDX-License-Identifier: Apache-2.0
 * One round trip of a worker, with timings.
 */
#include "answer/answer.h"
#include "cli/cli_show.h"
#include "cli/guard/guard.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>

#include "ask/answers.h"
#include "base/words.h"
#include "config/places.h"
#include "engine/engine.h"
#include "guard/guard.h"

static int64_t speed(int64_t bytes, int64_t ms)
{
    return ms > 0 ? (int64_t)((double)bytes * 1000 / (double)ms) : 0;
}

ANSWER_TABLE(probe_answer, struct probe_result)
{
    FIELD(WORD, "method", method, NULL);
    FIELD(WORD, "way", method, "The old name of `method`, until 0.3");
    FIELD(INT, "pid", pid, NULL);
    FIELD(INT, "bytes", bytes, NULL);
    FIELD(INT, "bytes_left", left_bytes, NULL, NONE(-1));
    FIELD(BOOL, "freed", freed, NULL);
    FIELD(BOOL, "resumed", resumed, NULL);
    FIELD(AMOUNT, "evict_seconds", evict_ms, NULL, SCALE(1e-3));
    FIELD(AMOUNT, "verify_seconds", verify_ms, NULL, SCALE(1e-3));
    FIELD(AMOUNT, "resume_seconds", resume_ms, NULL, SCALE(1e-3));
}

static int report(const struct cli *cli, const struct probe_result *r)
{
    if (cli->json)
        return show_answer(cli, &probe_answer, r);
    char size[WORDS_SIZE], took[WORDS_SIZE], rate[WORDS_SIZE];
    printf("The worker (pid %d) held %s.\n", r->pid, words_bytes(r->bytes, size));
    printf("Off the GPU through %s in %s (%s); the driver shows %s.\n", r->method, words_duration(r->evict_ms, took),
           words_rate(speed(r->bytes, r->evict_ms), rate), r->freed ? "that the memory is free" : "that memory is still held");
    printf("Back in %s (%s).\n", words_duration(r->resume_ms, took), words_rate(speed(r->bytes, r->resume_ms), rate));
    return EXIT_FINE;
}

/* Two guards of one worker would undo each other's steps. */
static bool is_guarded(struct cli *cli, int32_t pid, char name[SPEC_NAME_SIZE])
{
    char problem[512];
    size_t asked, i;
    bool found = false;
    json_t *worker, *workers = guard_ask(cli, "GET", "/api/guard", NULL, &asked, problem, sizeof problem);
    json_array_foreach(workers, i, worker)
    {
        const char *its = json_string_value(json_object_get(worker, "name"));
        if (!found && pid && its && json_integer_value(json_object_get(worker, "pid")) == pid) {
            str_copy(name, SPEC_NAME_SIZE, str_from(its));
            found = true;
        }
    }
    json_decref(workers);
    return found;
}

/* Delays signals: a user who ends the probe midway gets the worker back first. */
static void hold_signals(int how)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGHUP);
    pthread_sigmask(how, &set, NULL);
}

static int probe(struct cli *cli, struct guard_spec *spec)
{
    struct error err = {0};
    char state[PLACE_SIZE + 8];
    struct guard_sampler sampler = {0};
    int rc = place_state(state, &err);
    if (rc == 0) {
        strcat(state, "/guard");
        sampler.engine = guard_open_engine(cli, &err);
    }
    if (!sampler.engine)
        return cli_fail("%s", err.text);
    struct probe_result result;
    rc =
        guard_probe(&(struct guard_options){.env = &cli->env, .state_dir = state, .sample = guard_sampler_sample, .user = &sampler},
                    spec, &result, &err);
    engine_free(sampler.engine);
    if (rc < 0 && result.method && !result.resumed && result.evict_ms > 0)
        return cli_fail("%s\nThe worker may be off the GPU; `whirr guard attach` brings it back", err.text);
    if (rc < 0)
        return cli_fail("%s", err.text);
    int status = report(cli, &result);
    return result.freed ? status : EXIT_FAILED;
}

int guard_probe_command(struct cli *cli, const char *what)
{
    struct error err = {0};
    struct config *config = NULL;
    int status = guard_load_config(cli, &config);
    if (status != EXIT_FINE)
        return status;
    struct guard_spec *spec = guard_spec_of(cli, config, what, &err);
    config_free(config);
    if (!spec)
        return cli_usage(cli, "%s", err.text);
    char name[SPEC_NAME_SIZE];
    hold_signals(SIG_BLOCK); /* threads inherit the mask */
    if (is_guarded(cli, spec->match.leader.pid, name))
        status = cli_fail("that process is under guard as '%s': try `whirr guard evict %s` and `whirr guard resume %s`", name, name,
                          name);
    else
        status = probe(cli, spec);
    hold_signals(SIG_UNBLOCK);
    spec_done(spec);
    free(spec);
    return status;
}
