/* SPDX-License-Identifier: Apache-2.0
 * A guard of one worker in the foreground: an engine, a guard, its control socket, and signals. And a probe: one round trip of a
 * worker, with timings.
 */
#include "cli/guard/guard.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "answer/answer.h"
#include "ask/answers.h"
#include "ask/settings.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/log.h"
#include "base/words.h"
#include "cli/cli_show.h"
#include "config/places.h"
#include "engine/engine.h"
#include "guard/guard.h"
#include "guard/guard_target.h"
#include "net/http_client.h"
#include "source/source.h"

enum { FLAGS_MAX = 8, STATE_DIR_SIZE = 480 };
enum { DESCRIPTORS_WANTED = 8448 }; /* both sides of 4,096 clients at the gate, and the guard's own files */

struct front {
    struct guard_sampler sampler;
    struct guard *guard;
    struct guard_socket *socket;
    _Atomic bool ended, left; /* left: the worker could not be restored at the end */
    _Atomic int status;
    bool has_child, by_pid;
    pthread_t main;
};

/* ---- samples ---- */

struct engine *guard_open_engine(struct cli *cli, struct error *err)
{
    const char *configured[SOURCES_MAX], *const *sources = cli->ask.sources;
    size_t count = cli->ask.source_count;
    if (!count && cli->settings && !env_is_recorded(&cli->env)) {
        count = sources_configured(cli->settings, configured, SOURCES_MAX);
        sources = configured;
    }
    return engine_new(&(struct engine_options){.env = &cli->env, .sources = count ? sources : NULL, .source_count = count}, err);
}

/* ---- from the command line to a worker ---- */

int guard_load_config(struct cli *cli, struct config **ret)
{
    static const struct {
        const char *option, *key, *flag;
    } same[] = {{"profile", "worker.profile", "--profile"},
                {"interval", "worker.process_check_interval_secs", "--interval"},
                {"claim", "worker.claim", "--claim"},
                {"idle-after", "worker.idle_after", "--idle-after"},
                {"clear-for", "worker.clear_for", "--clear-for"},
                {"minimum-pause", "worker.minimum_pause", "--minimum-pause"}};
    struct config_flag flags[FLAGS_MAX];
    size_t count = 0;
    for (size_t i = 0; i < ARRAY_LEN(same); i++)
        if (options_has(cli->options, same[i].option))
            flags[count++] = (struct config_flag){same[i].key, options_value(cli->options, same[i].option, ""), same[i].flag};
    if (options_has(cli->options, "dry-run"))
        flags[count++] = (struct config_flag){"worker.dry_run", "true", "--dry-run"};
    return settings_load(cli, flags, count, ret);
}

static int add_options(struct cli *cli, const struct config *config, struct guard_spec *spec, struct error *err)
{
    const struct options *o = cli->options;
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < o->given_count; i++)
        if (strcmp(o->given[i].spec->name, "method") == 0 || strcmp(o->given[i].spec->name, "way") == 0)
            rc = spec_add_method(spec, config, o->given[i].value, err);
    const char *url = options_value(o, "url", NULL), *gate = options_value(o, "gate", NULL);
    if (rc == 0 && url)
        rc = spec_set_url(spec, url, err);
    if (gate) {
        str_copy(spec->gate.listen, sizeof spec->gate.listen, str_from(gate));
        spec->limits.hot_pauses = config->worker.overheat == CONFIG_OVERHEAT_PAUSE; /* a gate can throttle it instead */
    }
    const char *gpu = options_value(o, "gpu", NULL);
    if (gpu)
        str_copy(spec->gpus[spec->gpu_count++], GPU_UUID_SIZE, str_from(gpu));
    return rc;
}

static struct guard_spec *new_spec(const struct config *config, const char *name, struct error *err)
{
    struct guard_spec *spec = calloc(1, sizeof *spec);
    if (spec && spec_from_defaults(config, name, spec, err) == 0)
        return spec;
    free(spec);
    return NULL;
}

static void free_spec(struct guard_spec *spec)
{
    if (spec)
        spec_done(spec);
    free(spec);
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

/* Accepts a PID, a URL or a unit. */
static int parse_target(struct guard_spec *spec, const char *what, struct error *err)
{
    int64_t pid;
    if (str_to_i64(str_from(what), &pid) && pid > 0 && pid <= INT32_MAX)
        spec->match.leader.pid = (int32_t)pid;
    else if (strstr(what, "://"))
        return spec_set_url(spec, what, err);
    else if (strchr(what, '.'))
        str_copy(spec->match.unit, sizeof spec->match.unit, str_from(what));
    else
        str_copy(spec->match.name, sizeof spec->match.name, str_from(what));
    return 0;
}

struct guard_spec *guard_spec_of(struct cli *cli, const struct config *config, const char *what, struct error *err)
{
    for (size_t i = 0; i < config->guard_worker_count; i++) {
        if (strcmp(config->guard_worker[i].entry.name, what) != 0)
            continue;
        struct guard_spec *spec = calloc(1, sizeof *spec);
        if (spec && spec_from_config(config, i, spec, err) == 0)
            return spec;
        free(spec);
        return NULL;
    }
    char name[SPEC_NAME_SIZE];
    const char *host = strstr(what, "://");
    str_copy(name, sizeof name, str_from(options_value(cli->options, "name", host ? host + 3 : what)));
    for (char *c = name; *c; c++)
        if (*c == '/')
            *c = '_';
    struct guard_spec *spec = new_spec(config, name, err);
    if (!spec)
        return NULL;
    int rc = parse_target(spec, what, err);
    if (rc == 0)
        rc = add_options(cli, config, spec, err);
    /* By default, use the one method that works for any CUDA process. */
    if (rc == 0 && spec->method_count == 0)
        rc = spec_add_method(spec, config, "checkpoint", err);
    if (rc == 0)
        rc = spec_check(spec, false, err);
    if (rc == 0)
        return spec;
    free_spec(spec);
    return NULL;
}

/* ---- running ---- */

static void on_event(void *user, const struct guard_event *event)
{
    struct front *f = user;
    /* A PID that ended never comes back: there is nothing left to guard. */
    if (event->kind == GUARD_EVENT_LEFT)
        f->left = true;
    bool gone = f->by_pid && event->kind == GUARD_EVENT_STATE && event->state == GUARD_ABSENT;
    if (event->kind != GUARD_EVENT_ENDED && !gone)
        return;
    f->status = event->exit_status;
    f->ended = true;
    pthread_kill(f->main, SIGTERM); /* wake the main thread */
}

static void block_signals(sigset_t *set)
{
    sigemptyset(set);
    sigaddset(set, SIGINT);
    sigaddset(set, SIGTERM);
    sigaddset(set, SIGHUP);
    sigaddset(set, SIGCHLD);
    pthread_sigmask(SIG_BLOCK, set, NULL);
}

static int wait_for_end(struct front *f, const sigset_t *set)
{
    for (;;) {
        int signal = sigwaitinfo(set, NULL);
        if (f->ended)
            return f->status;
        if (signal == SIGCHLD && f->has_child)
            guard_poke(f->guard); /* without a child it was a helper, which needs no check */
        else if (signal == SIGCHLD)
            continue;
        else if (signal > 0)
            return signal == SIGTERM || signal == SIGINT ? EXIT_FINE : EXIT_FAILED;
    }
}

static int open_state(char path[STATE_DIR_SIZE], struct error *err)
{
    char state[PLACE_SIZE];
    int rc = place_state(state, err);
    if (rc == 0 && snprintf(path, STATE_DIR_SIZE, "%s/guard", state) >= STATE_DIR_SIZE)
        rc = error_set(err, -ENAMETOOLONG, "the path of the state directory is too long");
    return rc;
}

/* Profile "desktop" is useless if other users' processes are invisible. */
static bool sees_enough(struct front *f, const struct guard_spec *spec, struct error *err)
{
    AUTO_SNAPSHOT const struct snapshot *s = spec->lists_processes ? guard_sampler_sample(&f->sampler, -1) : NULL;
    if (!spec->lists_processes || (s && guard_can_see(s)))
        return true;
    error_set(err, -ENODEV, "no source lists the processes of a GPU, which profile \"desktop\" needs%s%s",
              s && s->driver.error_message[0] ? ": " : "", s ? s->driver.error_message : "");
    return false;
}

/* Takes ownership of the spec. */
static int guard_one(struct cli *cli, struct guard_spec *spec, const char *const *command)
{
    struct front f = {.main = pthread_self(),
                      .has_child = command != NULL,
                      .sampler = {.lean = true, .slow_every_ms = MIN_OF(spec->health_interval_ms, SLOW_EVERY_MS)}};
    struct error err = {0};
    char state[STATE_DIR_SIZE], name[SPEC_NAME_SIZE];
    sigset_t set;
    f.by_pid = !command && spec->match.leader.pid;
    descriptors_raise(DESCRIPTORS_WANTED);
    block_signals(&set); /* before threads start and inherit the mask */
    str_copy(name, sizeof name, str_from(spec->name));
    const char *label = name;
    int rc = open_state(state, &err);
    if (rc == 0)
        f.sampler.engine = guard_open_engine(cli, &err);
    if (rc == 0 && f.sampler.engine)
        f.guard = guard_new(
            &(struct guard_options){
                .env = &cli->env, .state_dir = state, .sample = guard_sampler_sample, .event = on_event, .user = &f},
            &err);
    bool can_see = !f.guard || sees_enough(&f, spec, &err);
    if (f.guard && can_see && guard_socket_open(f.guard, name, &f.socket, &err) == 0) {
        log_info(command ? "starting a worker under guard" : "guarding a worker", LOG_TEXT("worker", label),
                 LOG_TEXT("method", spec->method_count ? spec->methods[0].name : "none"),
                 LOG_INT("interval_ms", spec->interval_ms));
        rc = guard_add(f.guard, TAKE(spec), command, &err);
    } else {
        rc = err.code ? err.code : -EIO;
    }
    int status = rc == 0 ? wait_for_end(&f, &set) : cli_fail("%s", err.text);
    guard_socket_close(f.socket);
    guard_free(f.guard);
    engine_free(f.sampler.engine);
    free_spec(spec);
    return f.left && status == EXIT_FINE ? EXIT_FAILED : status;
}

static int foreground_begin(struct cli *cli, struct config **ret)
{
    int status = guard_load_config(cli, ret);
    if (status != EXIT_FINE)
        return status;
    enum log_format format = LOG_FORMAT_TEXT;
    log_format_from_name(options_value(cli->options, "log-format", "text"), &format);
    log_setup(options_has(cli->options, "verbose") ? LOG_DEBUG : LOG_INFO, format, stderr);
    return EXIT_FINE;
}

int guard_front_run(struct cli *cli, const char *const *command)
{
    struct error err = {0};
    struct config *config = NULL;
    int status = foreground_begin(cli, &config);
    if (status != EXIT_FINE)
        return status;
    struct guard_spec *spec = new_spec(config, options_value(cli->options, "name", base_name(command[0])), &err);
    int rc = spec ? add_options(cli, config, spec, &err) : err.code;
    if (rc == 0 && spec->method_count == 0) /* stopping and starting works for every program */
        rc = spec_add_method(spec, config, "process", &err);
    if (rc == 0) {
        spec->match = (struct guard_match){0}; /* the child is the worker */
        rc = spec_check(spec, true, &err);
    }
    config_free(config);
    if (rc == 0)
        return guard_one(cli, spec, command);
    free_spec(spec);
    return cli_usage(cli, "%s", err.text);
}

/* Any response, even a hangup, proves that a server is there. */
static bool answers(struct cli *cli, const char *url, struct error *err)
{
    const struct http_request request = {.method = "GET", .url = url, .status_is_enough = true};
    int rc = http_call(&cli->env, &request, NULL, err);
    return rc >= 0 || (rc != -ECONNREFUSED && rc != -EHOSTUNREACH);
}

/* Explains that the command stays in the foreground. */
static void print_attached(const struct cli *cli, const struct guard_spec *spec, const char *what)
{
    if (strcmp(options_value(cli->options, "log-format", "text"), "text") != 0)
        return;
    bool unload = spec->method_count && strcmp(spec->methods[0].name, "checkpoint") != 0;
    fprintf(
        stderr,
        "Guarding %s until Ctrl+C: when a game or another job needs the GPU, it is taken off%s%s, and brought back afterwards.\n"
        "To do that yourself, in another terminal: whirr guard evict %s; whirr guard resume %s\n",
        what, unload ? " by " : "", unload ? spec->methods[0].name : "", spec->name, spec->name);
}

int guard_front_attach(struct cli *cli, const char *what)
{
    struct error err = {0};
    struct config *config = NULL;
    int status = foreground_begin(cli, &config);
    if (status != EXIT_FINE)
        return status;
    struct guard_spec *spec = guard_spec_of(cli, config, what, &err);
    config_free(config);
    if (spec && spec->match.leader.pid && target_check(&cli->env, spec->match.leader, &err) < 0 && err.code != -EBUSY) {
        free_spec(spec);
        return cli_fail("%s", err.text);
    }
    if (!spec)
        return cli_usage(cli, "%s", err.text);
    if (strstr(what, "://") && !answers(cli, what, &err)) {
        free_spec(spec);
        return cli_fail("there is nothing to guard: %s\nStart the server first, or check its address", err.text);
    }
    print_attached(cli, spec, what);
    return guard_one(cli, spec, NULL);
}

/* ---- whirr guard probe ---- */

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
