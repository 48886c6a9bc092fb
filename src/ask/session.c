/* SPDX-License-Identifier: Apache-2.0
 * Queries the daemon, or samples through the engine.
 */
#include "ask/session.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "ask/client.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/log.h"
#include "check/check_history.h"
#include "config/config.h"
#include "config/places.h"
#include "engine/engine.h"
#include "format/forecast_forms.h"
#include "format/health_forms.h"
#include "format/json/json.h"
#include "insight/verdict/health_memory.h"
#include "insight/verdict/judge.h"
#include "insight/view/why.h"
#include "lease/control_request.h"
#include "lease/lease_use.h"
#include "source/source.h"

/* The engine gives up a driver that hangs after 5 s, or after 12 s while it starts (slow without persistence mode and with many
 * GPUs); only then does it run a replacement program. The answer names what did not respond. */
enum { ANSWER_WITHIN_MS = 30000, MAX_AGE_MS = 5000, PROGRESS_AFTER_MS = 1500 };

struct session {
    struct cli *cli;
    struct client *client;                 /* NULL: no daemon, or not queried */
    int64_t max_age_ms;                    /* of the daemon's samples */
    struct engine *engine;                 /* NULL while a daemon answers */
    struct wall first_sample, last_sample; /* by the engine */
    const struct lease_list *leases;       /* owned by the caller; NULL: read them for each sample */
    const char *sources[SOURCES_MAX];
    size_t source_count;
    char replay[PATH_SIZE + 32];
    bool speaks, shows_progress; /* to stderr; on a terminal, while it takes long */
};

static int open_host(const struct cli *cli, struct client **ret, struct error *err)
{
    struct host_place place;
    int rc = host_place_read(cli->host, cli->settings, &place, err);
    return rc < 0 ? rc : client_open_host(&cli->env, &place, !cli->among_hosts && isatty(STDIN_FILENO), ret, err);
}

/* --socket names one daemon: neither another one nor our own sample may replace it. */
static bool is_named(const struct cli *cli)
{
    const char *socket = cli->ask.socket;
    return socket && strcmp(socket, "auto") != 0 && strcmp(socket, "none") != 0;
}

static int open_daemon(const struct cli *cli, struct client **ret, struct error *err)
{
    /* Commands that read the configuration themselves, like `notify`, may not have loaded it yet. */
    int rc = client_open(cli->settings ? cli->settings->server.socket : cli->ask.socket ? cli->ask.socket : "auto", ret, err);
    return rc == -ENOENT && is_named(cli)
               ? error_set(err, -ENXIO, "no daemon answers at %s\nTo ask the usual one, or to sample here: leave --socket out",
                           cli->ask.socket)
               : rc;
}

int ask_check_socket(const struct cli *cli, struct error *err)
{
    struct client *client = NULL;
    int rc = is_named(cli) && !cli->host && !sampling_option(cli) ? open_daemon(cli, &client, err) : 0;
    client_close(client);
    return rc;
}

int ask_open(const struct cli *cli, struct client **ret, struct error *err)
{
    return cli->host ? open_host(cli, ret, err) : open_daemon(cli, ret, err);
}

const char *sampling_option(const struct cli *cli)
{
    return cli->ask.direct ? "--direct" : cli->ask.source_count ? "--source" : env_is_recorded(&cli->env) ? "--sysroot" : NULL;
}

int act_open(const struct cli *cli, struct client **ret, struct error *err)
{
    const char *sampling = sampling_option(cli);
    if (sampling)
        return error_set(err, -EINVAL, "'%s' acts on a running daemon: it can't be combined with %s", cli->name, sampling);
    return cli->host ? open_host(cli, ret, err) : client_open_to_act(cli->settings->server.socket, ret, err);
}

/* A bundle of `whirr doctor` contains recorded driver data besides the files for sources that read files. */
static void add_recording_of_bundle(struct session *s)
{
    const struct env *env = &s->cli->env;
    if (s->source_count || !env_is_recorded(env) || !file_exists(env, "/whirr/recording"))
        return;
    snprintf(s->replay, sizeof s->replay, "replay:%s/whirr/recording", env->sysroot);
    s->sources[s->source_count++] = s->replay;
    s->sources[s->source_count++] = "auto";
}

static bool wants_daemon(const struct session *s)
{
    const struct ask_options *ask = &s->cli->ask;
    return s->cli->settings && !s->source_count && !env_is_recorded(&s->cli->env) && !ask->direct && !ask->show_secrets;
}

/* Falls back to sampling without a daemon. */
static int open_client(struct session *s, struct error *err)
{
    int rc = open_daemon(s->cli, &s->client, err);
    if (rc < 0)
        log_debug("no daemon", LOG_TEXT("reason", err->text));
    return rc < 0 && is_named(s->cli) ? rc : 0;
}

/* Adds what a daemon's snapshot already contains. */
static void add_leases(void *user, struct snapshot *snapshot)
{
    const struct session *s = user;
    const struct cli *cli = s->cli;
    AUTO_LEASE_DIR struct lease_dir dir = LEASE_DIR_CLOSED;
    AUTO_LEASE_LIST struct lease_list list = {0};
    struct lease_programs programs = {0};
    struct error err;
    snapshot->may_control = control_may(cli->settings);
    if (!s->leases && lease_dir_find(&dir, cli->settings->lease.dir, &err) == 0)
        (void)lease_dir_list(&dir, snapshot->taken_at, &list, &err);
    const struct lease_list *known = s->leases ? s->leases : &list;
    if ((s->leases || lease_add_simulated(&list, snapshot) == 0) && known->count &&
        lease_programs_find(&programs, known, &cli->env, snapshot) == 0)
        lease_show(known, &programs, snapshot);
    lease_programs_done(&programs);
    check_show(snapshot);
}

/* Loads the list of GPUs that this host's daemon has seen: no driver reports missing ones. Leaves out the faults it has
 * recorded. */
static void remember_gpus(struct session *s)
{
    char state[PLACE_SIZE];
    struct health_place place;
    struct health_log_mark mark;
    struct error ignored;
    if (place_state_find(state, &ignored) < 0 || engine_recall(s->engine, state, &place, &mark, &ignored) < 0)
        return;
    health_keep_names(judge_health(engine_lock_judge(s->engine)));
    engine_unlock_judge(s->engine);
}

/* A recording brings its own past, of another time and often another host. */
static bool plays_recording(const struct session *s)
{
    const struct source_ops *ops = s->source_count ? source_of_spec(s->sources[s->source_count - 1], NULL) : NULL;
    return ops && ops->recorded;
}

static int open_engine(struct session *s, struct error *err)
{
    if (!s->source_count && s->cli->settings && !env_is_recorded(&s->cli->env))
        s->source_count = sources_configured(s->cli->settings, s->sources, SOURCES_MAX);
    struct engine_options options = {
        .env = &s->cli->env,
        .sources = s->source_count ? s->sources : NULL,
        .source_count = s->source_count,
        .show_secrets = s->cli->ask.show_secrets,
        .start_ms = SOURCE_START_MS,
    };
    s->engine = engine_new(&options, err);
    if (s->engine && s->cli->settings)
        engine_set_findings(s->engine, s->cli->settings);
    if (s->engine && !env_is_recorded(&s->cli->env) && !plays_recording(s))
        remember_gpus(s);
    if (s->engine && s->cli->settings && !env_is_recorded(&s->cli->env))
        engine_add_annotate(s->engine, add_leases, s);
    return s->engine ? 0 : err->code ? err->code : -EIO;
}

struct session *session_open(struct cli *cli, struct error *err)
{
    struct session *s = calloc(1, sizeof *s);
    if (!s) {
        error_set(err, -ENOMEM, "out of memory");
        return NULL;
    }
    s->cli = cli;
    s->max_age_ms = MAX_AGE_MS;
    s->source_count = cli->ask.source_count;
    memcpy(s->sources, cli->ask.sources, sizeof s->sources);
    add_recording_of_bundle(s);
    int result = 0;
    if (cli->host)
        result = open_host(cli, &s->client, err);
    else if (wants_daemon(s))
        result = open_client(s, err);
    if (!result && !s->client)
        result = open_engine(s, err);
    if (!result)
        return s;
    session_close(s);
    return NULL;
}

bool session_close(struct session *s)
{
    if (!s)
        return false;
    client_close(s->client);
    bool left_behind = engine_free(s->engine);
    free(s);
    return left_behind;
}

void session_set_leases(struct session *s, const struct lease_list *leases)
{
    s->leases = leases;
}

bool session_asks_daemon(const struct session *s)
{
    return s->client != NULL;
}

void session_set_max_age(struct session *s, int64_t max_age_ms)
{
    s->max_age_ms = max_age_ms;
}

/* The daemon went away, hangs or has an incompatible version: sample in this process from now on. */
static void give_up_daemon(struct session *s, const struct error *why)
{
    log_warn("sampling without the daemon", LOG_TEXT("reason", why->text));
    if (s->speaks && why->code == -ETIMEDOUT) /* it is still there: paused, or hanging */
        fprintf(stderr,
                "whirr: %s\nThese readings are from this program alone, without what the daemon remembers. To restart the daemon: "
                "systemctl restart whirr\n",
                why->text);
    client_close(TAKE(s->client));
}

/* A source that ran out of memory may have GPUs: reporting none, or only those of others, would be wrong. */
static const struct snapshot *whole(const struct snapshot *snapshot, struct error *err)
{
    for (size_t i = 0; i < snapshot->source_count; i++) {
        const struct source_status *source = &snapshot->sources[i];
        if (!source->out_of_memory)
            continue;
        error_set(err, -ENOMEM, "cannot read %s: %s", source->name, source->message);
        snapshot_unref(snapshot);
        return NULL;
    }
    return snapshot;
}

void session_show_progress(struct session *s)
{
    s->speaks = true;
    s->shows_progress = isatty(STDERR_FILENO);
}

/* A first sample can take seconds: show a reason on a terminal. */
static const struct snapshot *sample_here(struct session *s, unsigned groups)
{
    bool first = s->shows_progress && !s->first_sample.ms;
    const struct snapshot *snapshot = engine_sample(s->engine, groups, 0, first ? PROGRESS_AFTER_MS : ANSWER_WITHIN_MS);
    if (snapshot || !first || errno != ETIMEDOUT)
        return snapshot;
    fputs("whirr: waiting for the GPU driver ...", stderr);
    snapshot = engine_sample(s->engine, groups, 0, ANSWER_WITHIN_MS);
    int why = errno;
    fputs("\r\033[K", stderr);
    errno = why;
    return snapshot;
}

/* Shows a lease that just began or ended: rejects samples from before. */
static int64_t max_age(const struct session *s)
{
    AUTO_LEASE_DIR struct lease_dir dir = LEASE_DIR_CLOSED;
    struct error err;
    if (s->cli->host || !s->cli->settings || lease_dir_find(&dir, s->cli->settings->lease.dir, &err) < 0)
        return s->max_age_ms;
    return MIN_OF(s->max_age_ms, MAX_OF(clock_wall(s->cli->env.clock).ms - lease_dir_changed_at(&dir).ms, (int64_t)0));
}

const struct snapshot *session_sample(struct session *s, unsigned groups, struct error *err)
{
    const struct snapshot *snapshot;
    struct error why = {0};
    if (s->client && client_snapshot(s->client, groups, max_age(s), &snapshot, &why) == 0)
        return snapshot;
    if (s->client && (s->cli->host || is_named(s->cli))) {
        *err = why;
        return NULL;
    }
    if (s->client)
        give_up_daemon(s, &why);
    if (!s->engine && open_engine(s, err))
        return NULL;
    snapshot = sample_here(s, groups);
    if (!snapshot && errno == ENOMEM)
        error_set(err, -ENOMEM, "cannot sample: out of memory or file descriptors");
    else if (!snapshot)
        error_set(err, -ETIMEDOUT, "no source answered within %d s", ANSWER_WITHIN_MS / MS_PER_S);
    if (snapshot)
        s->last_sample = snapshot->taken_at;
    if (!s->first_sample.ms)
        s->first_sample = s->last_sample;
    return snapshot ? whole(snapshot, err) : NULL;
}

struct why *session_why(struct session *s, const struct snapshot *snapshot)
{
    AUTO_BUF struct buf answer = BUF(16 << 20);
    if (s->engine)
        return engine_why(s->engine, snapshot);
    if (!s->client || client_request(s->client, "GET", "/api/why", NULL, &answer, CLIENT_WITHIN_MS, NULL) != 200)
        return NULL;
    AUTO_JSON json_t *json = json_loadb(buf_view(&answer).at, answer.len, 0, NULL);
    return why_from_json(json, snapshot);
}

bool session_has_sampled(const struct session *s)
{
    return s->first_sample.ms != 0;
}

struct health *session_health(struct session *s, struct health_basis *basis)
{
    if (!s->engine)
        return NULL;
    struct health *health = judge_copy_health(engine_lock_judge(s->engine));
    *basis = (struct health_basis){.at = s->last_sample,
                                   .watched_since = s->first_sample,
                                   .log_state = fault_log_state(engine_fault_log(s->engine)),
                                   .log_message = fault_log_message(engine_fault_log(s->engine))};
    engine_unlock_judge(s->engine);
    return health;
}

struct forecast *session_forecast(struct session *s, struct forecast_basis *basis)
{
    if (!s->engine)
        return NULL;
    struct forecast *forecast = judge_copy_forecast(engine_lock_judge(s->engine));
    engine_unlock_judge(s->engine);
    basis->watched_s = (double)(s->last_sample.ms - s->first_sample.ms) / MS_PER_S;
    return forecast;
}

int session_get(struct session *s, const char *target, struct buf *answer)
{
    return s->client ? client_request(s->client, "GET", target, NULL, answer, CLIENT_WITHIN_MS, NULL) : -ENOTCONN;
}

int session_no_gpu(const struct cli *cli, const struct snapshot *snapshot, const char *which, struct error *err)
{
    if (snapshot->gpu_count == 0)
        return error_set(err, -ENODEV, "no GPU matches '%s': none was found on %s", which, cli->host ? cli->host : "this host");
    if (snapshot->gpu_count == 1)
        return error_set(err, -ENODEV, "no GPU matches '%s': there is one, with index %d", which, snapshot->gpus[0].index);
    return error_set(err, -ENODEV, "%s '%s': indexes go from %d to %d, see `whirr devices`",
                     gpu_names_several(which) ? "there is no GPU for each of" : "no single GPU matches", which,
                     snapshot->gpus[0].index, snapshot->gpus[snapshot->gpu_count - 1].index);
}

static int find_only(const struct cli *cli, const struct snapshot *snapshot, int *ret_only, struct error *err)
{
    const char *which = cli->ask.gpu;
    if (!which) {
        *ret_only = ALL_GPUS;
        return 0;
    }
    if (gpu_names_several(which) && snapshot_find_gpu(snapshot, which) < 0)
        return error_set(err, -EINVAL, "--gpu takes one GPU here, not '%s'", which);
    int found = snapshot_find_gpu(snapshot, which);
    if (found >= 0) {
        *ret_only = found;
        return 0;
    }
    return session_no_gpu(cli, snapshot, which, err);
}

int session_only(struct session *s, const struct snapshot *snapshot, int *ret_only, struct error *err)
{
    return find_only(s->cli, snapshot, ret_only, err);
}

int session_choose(const struct cli *cli, const struct snapshot **snapshot, struct why **why, int *ret_only, struct error *err)
{
    struct gpu_choice choice;
    const struct snapshot *part = NULL;
    struct why *own = NULL;
    if (!gpu_names_several(cli->ask.gpu))
        return find_only(cli, *snapshot, ret_only, err);
    if (!snapshot_find_gpus(*snapshot, cli->ask.gpu, &choice))
        return session_no_gpu(cli, *snapshot, cli->ask.gpu, err);
    int rc = why_of_gpus(*snapshot, why ? *why : NULL, &choice, &part, &own);
    if (rc < 0)
        return error_set(err, rc, "out of memory");
    snapshot_unref(*snapshot);
    *snapshot = part;
    if (why) {
        why_free(*why);
        *why = own;
    }
    *ret_only = ALL_GPUS;
    return 0;
}

void session_describe(struct session *s, struct buf *out)
{
    if (s->engine)
        engine_describe(s->engine, out, ANSWER_WITHIN_MS);
}
