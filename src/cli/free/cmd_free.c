/* SPDX-License-Identifier: Apache-2.0
 * whirr free: takes off the GPU what can be taken off, through guards that run and the APIs of model servers, and brings it back.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ask/answers.h"
#include "base/cleanup.h"
#include "base/json_reader.h"
#include "base/words.h"
#include "cli/cli_show.h"
#include "cli/free/free.h"
#include "cli/guard/guard.h"
#include "cli/programs.h"
#include "config/places.h"
#include "engine/engine.h"

/* A worker is called absent before the first look at it, too. */
enum {
    FOUND_WITHIN_MS = 4000,
    ABSENT_AFTER_MS = 1500,
    LOOK_EVERY_MS = 500,
    DONE_WITHIN_MS = 120000,
    POLL_MS = 100,
    GAME_EVERY_MS = 1000,
    GONE_LOOKS = 2
};

struct freeing {
    struct cli *cli;
    struct config *config;
    struct guard_sampler sampler;
    struct guard *guard; /* of workers that no running guard has; NULL: none */
    struct free_worker workers[FREE_WORKERS_MAX];
    size_t count;
    char user[PROCESS_USER_SIZE];
    struct free_plan plan;
};

/* ---- what can make room ---- */

static bool has_worker(const struct freeing *f, const char *method_or_name)
{
    for (size_t i = 0; i < f->count; i++)
        if (strcmp(f->workers[i].name, method_or_name) == 0 || strcmp(f->workers[i].method, method_or_name) == 0)
            return true;
    return false;
}

static struct free_worker *add_worker(struct freeing *f, const char *name, const char *method, int32_t pid, bool guarded)
{
    if (f->count == FREE_WORKERS_MAX)
        return NULL;
    struct free_worker *w = &f->workers[f->count++];
    *w = (struct free_worker){.pid = pid, .guarded = guarded};
    str_copy(w->name, sizeof w->name, str_from(name));
    str_copy(w->method, sizeof w->method, str_from(method));
    return w;
}

static void add_guarded(struct freeing *f)
{
    char problem[512];
    size_t asked, i;
    json_t *worker, *workers = guard_ask(f->cli, "GET", "/api/guard", NULL, &asked, problem, sizeof problem);
    json_array_foreach(workers, i, worker)
        add_worker(f, json_text(worker, "name"), "guard", (int32_t)json_integer_value(json_object_get(worker, "pid")), true);
    json_decref(workers);
}

/* Takes over the spec. A command of a person decides about it, nothing else. */
static int take_spec(struct freeing *f, struct guard_spec *spec, struct error *err)
{
    char name[SPEC_NAME_SIZE], method[SPEC_NAME_SIZE];
    str_copy(name, sizeof name, str_from(spec->name));
    str_copy(method, sizeof method, str_from(spec->methods[0].name));
    spec->auto_evict = spec->health = spec->overheat = spec->pause_on_errors = false;
    spec->gate.listen[0] = '\0';
    spec->interval_ms = LOOK_EVERY_MS;
    int rc = guard_add(f->guard, spec, NULL, err);
    if (rc == 0)
        add_worker(f, name, method, 0, false);
    return rc;
}

static void add_configured(struct freeing *f)
{
    struct error err;
    for (size_t i = 0; i < f->config->guard_worker_count; i++) {
        const char *name = f->config->guard_worker[i].entry.name;
        struct guard_spec *spec = has_worker(f, name) ? NULL : guard_spec_of(f->cli, f->config, name, &err);
        if (spec)
            take_spec(f, spec, &err);
    }
}

/* "ollama,vllm=http://127.0.0.1:9000" */
static void add_found(struct freeing *f)
{
    AUTO_BUF struct buf found = BUF(4096);
    programs_find_servers(&f->cli->env, &found);
    struct str rest = buf_view(&found), one;
    while (rest.len && str_cut(&rest, ',', &one)) {
        char method[64], url[METHOD_TEXT_SIZE];
        struct str name;
        struct error err;
        str_cut(&one, '=', &name);
        str_copy(method, sizeof method, name);
        str_copy(url, sizeof url, one.len ? one : str_from(programs_server_url(name) ? programs_server_url(name) : ""));
        struct guard_spec *spec = has_worker(f, method) ? NULL : calloc(1, sizeof *spec);
        if (!spec)
            continue;
        if (spec_from_defaults(f->config, method, spec, &err) == 0 && spec_set_url(spec, url, &err) == 0 &&
            spec_add_method(spec, f->config, method, &err) == 0 && spec_check(spec, false, &err) == 0) {
            take_spec(f, spec, &err);
        } else {
            spec_done(spec);
            free(spec);
        }
    }
}

/* The workers of our own guard are on a GPU, or known not to be. */
static void wait_for_own(struct freeing *f)
{
    struct guard_status list[FREE_WORKERS_MAX];
    struct mono begin = clock_mono(&clock_system);
    bool known = !f->guard;
    for (int64_t waited_ms; !known && (waited_ms = mono_since_ms(clock_mono(&clock_system), begin)) < FOUND_WITHIN_MS;) {
        size_t count = guard_list(f->guard, list, FREE_WORKERS_MAX);
        known = true;
        for (size_t i = 0; i < count; i++)
            for (size_t k = 0; k < f->count; k++)
                if (!f->workers[k].guarded && strcmp(f->workers[k].name, list[i].name) == 0) {
                    f->workers[k].pid = list[i].pid;
                    known &= list[i].pid != 0 || (list[i].state == GUARD_ABSENT && waited_ms >= ABSENT_AFTER_MS);
                }
        if (!known)
            pause_ms(POLL_MS);
    }
}

static int open_own_guard(struct freeing *f, struct error *err)
{
    static char state[PLACE_SIZE + 8];
    int rc = place_state(state, err);
    if (rc < 0)
        return rc;
    strcat(state, "/guard");
    f->sampler = (struct guard_sampler){.lean = true, .slow_every_ms = SLOW_EVERY_MS};
    f->sampler.engine = guard_open_engine(f->cli, err);
    if (f->sampler.engine)
        f->guard = guard_new(
            &(struct guard_options){.env = &f->cli->env, .state_dir = state, .sample = guard_sampler_sample, .user = &f->sampler},
            err);
    return f->guard ? 0 : err->code;
}

static int make_plan(struct freeing *f, int64_t *ret_free_bytes, struct error *err)
{
    struct session *session = session_open(f->cli, err);
    int only = ALL_GPUS;
    if (!session)
        return err->code;
    session_set_max_age(session, 0);
    AUTO_SNAPSHOT const struct snapshot *s = session_sample(session, GROUP_QUICK, err);
    int rc = s ? session_only(session, s, &only, err) : err->code;
    if (rc == 0 && s->gpu_count == 0)
        rc = error_set(err, -ENODEV, "no GPU was found on this host");
    if (rc == 0)
        free_plan_make(&f->plan, s, only, f->workers, f->count, f->user);
    *ret_free_bytes = 0;
    for (size_t i = 0; rc == 0 && i < s->gpu_count; i++)
        if (only == ALL_GPUS || (size_t)only == i)
            *ret_free_bytes += reading_or(s->gpus[i].mem_free_bytes, 0);
    session_close(session);
    return rc;
}

/* ---- doing it ---- */

static void command_all(struct freeing *f, bool off)
{
    for (size_t i = 0; i < f->count; i++) {
        const struct free_worker *w = &f->workers[i];
        char body[128], path[64], problem[512];
        size_t asked;
        if (!w->pid)
            continue;
        if (!w->guarded) {
            guard_take_command(f->guard, w->name, off ? COMMAND_EVICT : COMMAND_RESUME);
            continue;
        }
        snprintf(body, sizeof body, "{\"worker\": \"%s\"}", w->name);
        snprintf(path, sizeof path, "/api/guard/%s", off ? "evict" : "resume");
        json_decref(guard_ask(f->cli, "POST", path, body, &asked, problem, sizeof problem));
    }
}

/* 1: there; 0: not yet; -1: failed. */
static int arrived(const char *state, bool gave_up, bool still_held, bool off)
{
    if (strcmp(state, "absent") == 0)
        return 1;
    if (off)
        return gave_up ? -1 : strcmp(state, "paused") != 0 ? 0 : still_held ? -1 : 1;
    return strcmp(state, "running") == 0 || strcmp(state, "reserving") == 0;
}

static int worker_arrived(struct freeing *f, const struct free_worker *w, bool off, char problem[GUARD_TEXT_SIZE])
{
    struct guard_status list[FREE_WORKERS_MAX];
    size_t count = w->guarded ? 0 : guard_list(f->guard, list, FREE_WORKERS_MAX);
    for (size_t i = 0; i < count; i++)
        if (strcmp(list[i].name, w->name) == 0) {
            str_copy(problem, GUARD_TEXT_SIZE, str_from(list[i].problem));
            return arrived(guard_state_name(list[i].state), list[i].gave_up, list[i].not_freed, off);
        }
    char trouble[512];
    size_t asked, i;
    int result = 1;
    json_t *one, *workers = w->guarded ? guard_ask(f->cli, "GET", "/api/guard", NULL, &asked, trouble, sizeof trouble) : NULL;
    json_array_foreach(workers, i, one) if (strcmp(json_text(one, "name"), w->name) == 0)
    {
        str_copy(problem, GUARD_TEXT_SIZE, str_from(json_text(one, "problem")));
        result = arrived(json_text(one, "state"), json_is_true(json_object_get(one, "gave_up")),
                         json_is_true(json_object_get(one, "memory_still_held")), off);
    }
    json_decref(workers);
    return result;
}

/* How many workers are where they should be; says which are not. */
static size_t wait_for_all(struct freeing *f, bool off)
{
    struct mono begin = clock_mono(&clock_system);
    size_t there = 0;
    for (size_t i = 0; i < f->count; i++) {
        char problem[GUARD_TEXT_SIZE] = "";
        int how = 0;
        while (f->workers[i].pid && (how = worker_arrived(f, &f->workers[i], off, problem)) == 0 &&
               mono_since_ms(clock_mono(&clock_system), begin) < DONE_WITHIN_MS)
            pause_ms(POLL_MS);
        there += how == 1;
        if (f->workers[i].pid && how != 1)
            cli_fail("%s %s%s%s", f->workers[i].name, off ? "still holds the GPU" : "is not back yet", problem[0] ? ": " : "",
                     problem);
    }
    return there;
}

/* ---- until it is over ---- */

static volatile sig_atomic_t interrupted;

static void on_signal(int number)
{
    (void)number;
    interrupted = 1;
}

static void until_enter(void)
{
    bool terminal = isatty(STDIN_FILENO);
    fprintf(stderr, terminal ? "Press Enter to bring it back.\n" : "SIGTERM or Ctrl+C brings it back.\n");
    while (!interrupted) {
        struct pollfd in = {.fd = terminal ? STDIN_FILENO : -1, .events = POLLIN};
        if (poll(&in, 1, POLL_MS) > 0)
            return;
    }
}

/* Two looks without it: a game's launcher replaces itself. */
static void until_gone(const struct env *env, const char *game)
{
    struct program_found found;
    int without = 0;
    bool seen = programs_called(env, game, &found, 1) > 0;
    fprintf(stderr, "Waiting until %s has %sended; Ctrl+C brings it back now.\n", game, seen ? "" : "started and ");
    while (!interrupted && without < GONE_LOOKS) {
        pause_ms(GAME_EVERY_MS);
        bool there = programs_called(env, game, &found, 1) > 0;
        seen |= there;
        without = seen && !there ? without + 1 : 0;
    }
}

static int act(struct freeing *f, int64_t free_before)
{
    AUTO_BUF struct buf out = BUF(1 << 20);
    struct error err = {0};
    char freed[WORDS_SIZE], now[WORDS_SIZE];
    const char *game = options_value(f->cli->options, "for", NULL);
    int64_t free_now;
    const struct sigaction end = {.sa_handler = on_signal};
    sigaction(SIGINT, &end, NULL);
    sigaction(SIGTERM, &end, NULL);
    sigaction(SIGHUP, &end, NULL);
    command_all(f, true);
    size_t off = wait_for_all(f, true);
    if (make_plan(f, &free_now, &err) < 0)
        free_now = free_before;
    if (off && !f->cli->json)
        printf("Freed %s: %s free now.\n", words_bytes(MAX_OF(0, free_now - free_before), freed), words_bytes(free_now, now));
    fflush(stdout);
    if (off && !interrupted && game)
        until_gone(&f->cli->env, game);
    else if (off && !interrupted)
        until_enter();
    command_all(f, false);
    size_t back = wait_for_all(f, false);
    if (f->cli->json) {
        free_plan_json(&out, &f->plan, MAX_OF(0, free_now - free_before), back >= off);
        show_text(&out);
    } else if (off && back >= off)
        puts("Everything is back.");
    return off && back >= off ? EXIT_FINE : EXIT_FAILED;
}

#define CLOSE_YOURS                                                                                                                \
    "Close what is yours; a program can be paused by: whirr guard attach PID, a model server by: whirr guard attach URL --method " \
    "NAME"

static int show_plan(struct freeing *f)
{
    AUTO_BUF struct buf out = BUF(1 << 20);
    if (f->cli->json)
        free_plan_json(&out, &f->plan, 0, false);
    else if (f->plan.count)
        free_plan_text(&out, &f->cli->page, &f->plan);
    else
        buf_text(&out, "No visible program holds GPU memory.\n");
    if (options_has(f->cli->options, "dry-run") && !f->cli->json)
        buf_printf(&out, "Nothing was changed (dry run).%s\n",
                   f->plan.unload_bytes > 0 ? " To do it: whirr free"
                   : f->plan.simulated      ? " These programs are simulated: there is nothing to free.\n"
                   : f->plan.count          ? " whirr can't free any of it.\n" CLOSE_YOURS
                                            : "");
    return show_text(&out);
}

static int free_them(struct freeing *f)
{
    struct error err = {0};
    int64_t free_before;
    bool dry = options_has(f->cli->options, "dry-run");
    wait_for_own(f);
    if (make_plan(f, &free_before, &err) < 0)
        return cli_error(f->cli, &err);
    bool any = f->plan.unload_bytes > 0;
    int status = !f->cli->json || dry || !any ? show_plan(f) : EXIT_FINE;
    if (dry || status != EXIT_FINE || !f->plan.count)
        return status;
    if (f->plan.simulated)
        return cli_fail("these programs are simulated: there is nothing to free");
    if (!any)
        return cli_fail("whirr can't free any of this\n" CLOSE_YOURS);
    return act(f, free_before);
}

static int free_run(struct cli *cli)
{
    struct freeing f = {.cli = cli};
    struct error err = {0};
    int status = guard_load_config(cli, &f.config);
    if (status != EXIT_FINE)
        return status;
    const char *user = geteuid() ? env_variable("USER") : "root";
    str_copy(f.user, sizeof f.user, str_from(user ? user : ""));
    add_guarded(&f);
    if (open_own_guard(&f, &err) < 0)
        status = cli_fail("%s", err.text);
    else {
        add_configured(&f);
        add_found(&f);
        status = free_them(&f);
    }
    guard_free(f.guard);
    engine_free(f.sampler.engine);
    config_free(f.config);
    return status;
}

static const struct option_spec options[] = {
    {.name = "for", .argument = "PROGRAM", .help = "Bring it back when this program, a game for example, has started and ended"},
    {.name = "dry-run", .help = "Show what holds the GPU and what would be done; change nothing"},
};

const struct command command_free = {
    .exits = "0 it was free, or was freed and is back; 1 nothing could be freed, or not all of it is back; 2 wrong usage or "
             "configuration.",
    .name = "free",
    .group = HELP_ACT,
    .summary = "Free the GPU for a while, say for a game; models come back",
    .details =
        "Shows what holds memory of the GPU and how each can make room: workers under guard are paused, model servers (Ollama, "
        "llama.cpp, vLLM, SGLang, ComfyUI, LM Studio, web UI, and those of the configuration) unload their models through "
        "their API, and programs of other users name who to ask. Waits until the driver shows the memory as free, then for "
        "Enter, Ctrl+C or the end of the program of --for, and brings everything back. Programs of your own that can't be "
        "paused are named, never ended.",
    OPTIONS(options),
    .examples = {{"whirr free", "until you press Enter"},
                 {"whirr free --for game.exe", "until the game has ended"},
                 {"whirr free --dry-run", "what holds the GPU, and what would be done"}},
    .run = free_run,
};
