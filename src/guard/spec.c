/* SPDX-License-Identifier: Apache-2.0
 * From settings to a worker's specification. Copies texts: a reload may drop their configuration.
 */
#include "guard/spec.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

#include "base/arena.h"
#include "base/cleanup.h"

enum { TEXTS_MAX = 256 * 1024 };
#define DEGREE_MDEGC 1000
#define HYSTERESIS_MDEGC 5000

/* ---- fields with the same names in [worker] and [guard.worker.NAME] ---- */

#define COPY_COMMON(spec, c)                                                                    \
    do {                                                                                        \
        (spec)->auto_evict = (c)->auto_evict;                                                   \
        (spec)->interval_ms = (int64_t)((c)->process_check_interval_secs * 1000);               \
        (spec)->health = (c)->health_monitoring;                                                \
        (spec)->health_interval_ms = (int64_t)((c)->health_check_interval_secs * 1000);         \
        (spec)->hot_mdegc = (int64_t)((c)->temperature_threshold_celsius * DEGREE_MDEGC);       \
        (spec)->cool_mdegc = (int64_t)((c)->temperature_release_celsius * DEGREE_MDEGC);        \
        (spec)->overheat = (c)->overheat != CONFIG_OVERHEAT_NONE;                               \
        (spec)->limits.hot_pauses = (c)->overheat == CONFIG_OVERHEAT_PAUSE;                     \
        (spec)->pause_on_errors = (c)->pause_on_errors;                                         \
        (spec)->lists_processes = (c)->profile == CONFIG_PROFILE_DESKTOP;                       \
        (spec)->claim.any = (c)->claim == CONFIG_CLAIM_ANY;                                     \
        (spec)->claim.compute_bytes = (c)->claim_compute_bytes;                                 \
        (spec)->claim.compute_permille = (int64_t)((c)->claim_compute_percent * 10);            \
        (spec)->claim.graphics_bytes = (c)->claim_graphics_bytes;                               \
        (spec)->claim.graphics_busy_bytes = (c)->claim_busy_bytes;                              \
        (spec)->claim.graphics_busy_permille = (int64_t)((c)->claim_busy_percent * 10);         \
        (spec)->claim.reserve_bytes = (c)->reserve_bytes;                                       \
        (spec)->steam = (c)->steam;                                                             \
        (spec)->gamemode = (c)->gamemode;                                                       \
        (spec)->limits.leave_clear_ms = (c)->clear_ms;                                          \
        (spec)->limits.pause_min_ms = (c)->minimum_pause_ms;                                    \
        (spec)->limits.drain_ms = (c)->drain_ms;                                                \
        (spec)->limits.idle_ms = (c)->idle_ms;                                                  \
        (spec)->settings.evict_timeout_ms = (spec)->settings.resume_timeout_ms = (c)->evict_ms; \
        (spec)->dry_run = (c)->dry_run;                                                         \
    } while (0)

static int spec_begin(struct guard_spec *spec, const char *name, struct error *err)
{
    *spec = (struct guard_spec){.limits = guard_limits_default, .claim = claim_limits_default};
    str_copy(spec->name, sizeof spec->name, str_from(name));
    spec->texts = calloc(1, sizeof *spec->texts);
    if (!spec->texts)
        return error_set(err, -ENOMEM, "out of memory");
    *spec->texts = ARENA(TEXTS_MAX);
    return 0;
}

static void spec_finish(struct guard_spec *spec)
{
    /* Flapping never waits shorter than the configured plain wait. */
    spec->limits.leave_longest_ms = MAX_OF(spec->limits.leave_longest_ms, spec->limits.leave_clear_ms);
    if (spec->cool_mdegc == 0 || spec->cool_mdegc > spec->hot_mdegc)
        spec->cool_mdegc = spec->hot_mdegc - HYSTERESIS_MDEGC;
    /* Without a gate, requests can't be admitted one at a time: pause the worker instead. */
    if (spec->overheat && !spec->gate.listen[0])
        spec->limits.hot_pauses = true;
}

static const char *const *copy_command(struct guard_spec *spec, const struct config_list *list, struct error *err)
{
    if (list->count == 0)
        return NULL;
    const char **argv = arena_alloc(spec->texts, (list->count + 1) * sizeof *argv);
    for (size_t i = 0; argv && i < list->count; i++) {
        argv[i] = arena_copy(spec->texts, str_from(list->items[i]));
        if (!argv[i])
            argv = NULL;
    }
    if (!argv)
        error_set(err, -ENOMEM, "the commands of worker '%s' are too long", spec->name);
    return argv;
}

static int signal_number(const char *name, int *ret, struct error *err)
{
    static const struct {
        const char *name;
        int number;
    } known[] = {{"HUP", SIGHUP},   {"INT", SIGINT},     {"USR1", SIGUSR1}, {"USR2", SIGUSR2},
                 {"TERM", SIGTERM}, {"WINCH", SIGWINCH}, {"QUIT", SIGQUIT}, {"CONT", SIGCONT}};
    const char *bare = strncmp(name, "SIG", 3) == 0 ? name + 3 : name;
    size_t i = NAME_FIND(known, str_from(bare));
    *ret = i < ARRAY_LEN(known) ? known[i].number : 0;
    return *ret || !name[0] ? 0
                            : error_set(err, -EINVAL, "'%s' is not a usable signal; expected SIGUSR1, SIGUSR2, SIGHUP, ...", name);
}

static int read_match(struct guard_spec *spec, const struct config_map *match, struct error *err)
{
    for (size_t i = 0; i < match->count; i++) {
        struct str key = str_from(match->pairs[i].key), value = str_from(match->pairs[i].value);
        int64_t number;
        if (str_is(key, "pid") && str_to_i64(value, &number) && number > 0 && number <= INT32_MAX)
            spec->match.leader.pid = (int32_t)number;
        else if (str_is(key, "name"))
            str_copy(spec->match.name, sizeof spec->match.name, value);
        else if (str_is(key, "unit"))
            str_copy(spec->match.unit, sizeof spec->match.unit, value);
        else if (str_is(key, "cgroup"))
            str_copy(spec->match.cgroup, sizeof spec->match.cgroup, value);
        else if (str_is(key, "port") && str_to_i64(value, &number) && number > 0 && number < 65536)
            spec->match.port = (int)number;
        else
            return error_set(err, -EINVAL, "'%s = %s' matches nothing: pid, name, unit, cgroup and port are known",
                             match->pairs[i].key, match->pairs[i].value);
    }
    return 0;
}

static const char *spec_keep(struct guard_spec *spec, struct str text)
{
    return arena_copy(spec->texts, text);
}

/* "POST /models/unload" */
static int split_request(struct guard_spec *spec, const char *text, const char *body, struct server_request *ret, struct error *err)
{
    *ret = (struct server_request){0};
    struct str rest = str_from(text), verb;
    if (!str_word(&rest, &verb))
        return 0;
    rest = str_trim(rest);
    if (rest.len == 0 || rest.at[0] != '/')
        return error_set(err, -EINVAL, "'%s' is not a method and a path, like \"POST /unload\"", text);
    *ret = (struct server_request){spec_keep(spec, verb), spec_keep(spec, rest), spec_keep(spec, str_from(body))};
    return ret->method && ret->path && ret->body ? 0 : error_set(err, -ENOMEM, "out of memory");
}

static int own_requests(struct guard_spec *spec, const struct config_guard_method *c, struct server_row *row, struct error *err)
{
    int rc = split_request(spec, c->list, "", &row->list, err);
    if (rc == 0)
        rc = split_request(spec, c->unload, c->unload_body, &row->unload, err);
    return rc < 0 ? rc : split_request(spec, c->reload, c->reload_body, &row->reload, err);
}

static int own_row(struct guard_spec *spec, const struct config_guard_method *c, struct server_row *row, struct error *err)
{
    *row = (struct server_row){
        .busy.method = "GET", .asleep.method = "GET", .before.method = "POST", .after.method = "POST", .settle_ms = c->settle_ms};
    const struct {
        const char *from;
        const char **to;
    } texts[] = {{c->entry.name, &row->name},
                 {c->items, &row->items},
                 {c->id, &row->id},
                 {c->only, &row->only},
                 {c->name, &row->name_key},
                 {c->extra, &row->extra_key},
                 {c->busy, &row->busy.path},
                 {c->busy_key, &row->busy_key},
                 {c->before, &row->before.path},
                 {c->before_body, &row->before.body},
                 {c->after, &row->after.path},
                 {c->after_body, &row->after.body},
                 {c->asleep, &row->asleep.path},
                 {c->asleep_key, &row->asleep_key}};
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        if (!(*texts[i].to = spec_keep(spec, str_from(texts[i].from))))
            return error_set(err, -ENOMEM, "out of memory");
    int rc = own_requests(spec, c, row, err);
    if (rc == 0 && row->only[0] && !strchr(row->only, '='))
        rc = error_set(err, -EINVAL, "only = \"%s\" has no '='", row->only);
    return rc < 0 ? error_prefix(err, "guard.method.%s", c->entry.name) : 0;
}

int spec_add_method(struct guard_spec *spec, const struct config *config, const char *name, struct error *err)
{
    if (spec->method_count == JOURNAL_METHODS_MAX)
        return error_set(err, -EINVAL, "more than %d methods", JOURNAL_METHODS_MAX);
    struct method *method = &spec->methods[spec->method_count];
    int rc = 0;
    for (size_t i = 0; config && i < config->guard_method_count; i++) {
        if (strcmp(config->guard_method[i].entry.name, name) != 0)
            continue;
        struct server_row *row = &spec->rows[spec->method_count];
        rc = own_row(spec, &config->guard_method[i], row, err);
        *method = (struct method){.name = row->name, .ops = &method_http, .row = row};
        spec->limits.methods = (unsigned)++spec->method_count;
        return rc;
    }
    rc = method_resolve(name, method, err);
    if (rc == 0)
        spec->limits.methods = (unsigned)++spec->method_count;
    return rc;
}

int spec_set_url(struct guard_spec *spec, const char *url, struct error *err)
{
    struct str_place place;
    if (strlen(url) >= sizeof spec->settings.url)
        return error_set(err, -ENAMETOOLONG, "the URL is too long");
    str_copy(spec->settings.url, sizeof spec->settings.url, str_from(url));
    if (!strstr(url, "://"))
        return error_set(err, -EINVAL, "'%s' is not a URL", url);
    if (!str_to_url_place(url, &place))
        return error_set(err, -EINVAL, "'%s' has no valid port", url);
    bool matched =
        spec->match.leader.pid || spec->match.name[0] || spec->match.unit[0] || spec->match.cgroup[0] || spec->match.port;
    if (str_is_loopback(place.host) && !matched)
        spec->match.port = (int)place.port;
    return 0;
}

int spec_from_defaults(const struct config *config, const char *name, struct guard_spec *ret, struct error *err)
{
    int rc = spec_begin(ret, name, err);
    if (rc < 0)
        return rc;
    COPY_COMMON(ret, &config->worker);
    ret->settings.evict_signal = SIGUSR1;
    ret->settings.resume_signal = SIGUSR2;
    ret->gate = (struct guard_gate_spec){.waiting_max = 64, .wait_ms = 300000};
    spec_finish(ret);
    return 0;
}

static int read_worker(struct guard_spec *spec, const struct config *config, const struct config_guard_worker *c, struct error *err)
{
    COPY_COMMON(spec, c);
    str_copy(spec->settings.token, sizeof spec->settings.token, str_from(c->token));
    spec->gate = (struct guard_gate_spec){
        .refuse = c->gate_mode == CONFIG_GATE_REFUSE, .waiting_max = (size_t)c->gate_limit, .wait_ms = c->gate_wait_ms};
    if (strcmp(c->gate, "none") != 0)
        str_copy(spec->gate.listen, sizeof spec->gate.listen, str_from(c->gate));
    int rc = read_match(spec, &c->match, err);
    str_copy(spec->settings.unit, sizeof spec->settings.unit, str_from(spec->match.unit));
    if (rc == 0 && c->url[0])
        rc = spec_set_url(spec, c->url, err);
    for (size_t i = 0; rc == 0 && i < c->methods.count; i++)
        rc = spec_add_method(spec, config, c->methods.items[i], err);
    if (rc == 0 && c->gpus.count > SPEC_GPUS_MAX)
        rc = error_set(err, -EINVAL, "more than %d GPUs", SPEC_GPUS_MAX);
    for (size_t i = 0; rc == 0 && i < c->gpus.count; i++)
        str_copy(spec->gpus[spec->gpu_count++], GPU_UUID_SIZE, str_from(c->gpus.items[i]));
    if (rc == 0)
        rc = signal_number(c->evict_signal, &spec->settings.evict_signal, err);
    if (rc == 0)
        rc = signal_number(c->resume_signal, &spec->settings.resume_signal, err);
    struct error memory = {0};
    spec->settings.evict_command = copy_command(spec, &c->evict_command, &memory);
    spec->settings.resume_command = copy_command(spec, &c->resume_command, &memory);
    spec->settings.status_command = copy_command(spec, &c->status_command, &memory);
    if (rc == 0 && memory.code)
        rc = error_set(err, memory.code, "%s", memory.text);
    spec_finish(spec);
    return rc < 0 ? rc : spec_check(spec, false, err);
}

int spec_from_config(const struct config *config, size_t i, struct guard_spec *ret, struct error *err)
{
    const struct config_guard_worker *c = &config->guard_worker[i];
    int rc = spec_begin(ret, c->entry.name, err);
    if (rc == 0)
        rc = read_worker(ret, config, c, err);
    if (rc == 0)
        return 0;
    spec_done(ret);
    return error_prefix(err, "guard.worker.%s", c->entry.name);
}

/* Servers that reload the model on the next request, without the guard's help. */
static bool loads_itself(const struct method *m)
{
    static const char *const names[] = {"ollama", "llamacpp", "llama-swap", "comfyui", "lmstudio"};
    if (NAME_IN(names, str_from(m->name)))
        return true;
    return m->row && (!m->row->reload.path || !m->row->reload.path[0]);
}

int spec_check(const struct guard_spec *spec, bool has_child, struct error *err)
{
    const struct guard_match *m = &spec->match;
    if (!has_child && !m->leader.pid && !m->name[0] && !m->unit[0] && !m->cgroup[0] && !m->port)
        return error_set(err, -EINVAL,
                         "no processes are configured for the worker: set match, or the url of a server on this host");
    if (spec->method_count == 0)
        return error_set(err, -EINVAL, "no method to evict is configured: set methods, like [\"checkpoint\"]");
    for (size_t i = 0; i < spec->method_count; i++) {
        const struct method *w = &spec->methods[i];
        if (w->row && !spec->settings.url[0])
            return error_set(err, -EINVAL, "the method '%s' needs the url of the server", w->name);
        if (strcmp(w->name, "command") == 0 && !spec->settings.evict_command)
            return error_set(err, -EINVAL, "the method 'command' needs evict_command");
        if (strcmp(w->name, "process") == 0 && !has_child)
            return error_set(err, -EINVAL, "the method 'process' is for workers that whirr started (whirr guard run)");
    }
    if (spec->limits.idle_ms && !spec->gate.listen[0] && !loads_itself(&spec->methods[0]))
        return error_set(err, -EINVAL,
                         "idle_after needs a gate with the method '%s': set gate, so that the next request brings it back",
                         spec->methods[0].name);
    if (spec->gate.listen[0] && !spec->settings.url[0])
        return error_set(err, -EINVAL, "a gate needs the url of the server behind it");
    struct str_place gate, server;
    if (spec->gate.listen[0] && str_to_listen(str_from(spec->gate.listen), &gate) &&
        str_to_url_place(spec->settings.url, &server) && str_place_covers(&gate, &server))
        return error_set(err, -EINVAL, "the gate %s is the address of the url itself: choose another port, clients connect there",
                         spec->gate.listen);
    return 0;
}

/* Position of an earlier worker with the same gate; i: none. */
static size_t same_gate(const struct config *config, size_t i)
{
    struct str_place gate, other;
    const char *listen = config->guard_worker[i].gate;
    if (strcmp(listen, "none") == 0 || !str_to_listen(str_from(listen), &gate))
        return i;
    for (size_t k = 0; k < i; k++) {
        const char *its = config->guard_worker[k].gate;
        if (strcmp(its, "none") != 0 && str_to_listen(str_from(its), &other) && str_place_covers(&gate, &other))
            return k;
    }
    return i;
}

void spec_check_config(const struct config *config, bool warnings, struct config_problems *problems)
{
    for (size_t i = 0; i < config->guard_worker_count; i++) {
        const struct config_guard_worker *w = &config->guard_worker[i];
        struct error err = {0};
        struct guard_spec spec;
        if (spec_from_config(config, i, &spec, &err) < 0)
            problem_add(problems, warnings, &w->entry.at, "%s; the worker is not guarded", err.text);
        else
            spec_done(&spec);
        size_t other = same_gate(config, i);
        if (other != i)
            problem_add(problems, warnings, config_origin_of(&w->entry, "guard.worker", "gate"),
                        "guard.worker.%s: the gate %s is that of guard.worker.%s already", w->entry.name, w->gate,
                        config->guard_worker[other].entry.name);
    }
}

void spec_done(struct guard_spec *spec)
{
    if (spec->texts)
        arena_done(spec->texts);
    free(spec->texts);
    spec->texts = NULL;
}
