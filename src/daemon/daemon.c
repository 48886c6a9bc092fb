/* SPDX-License-Identifier: Apache-2.0
 * Starts the parts in order, handles signals, stops the parts in reverse order.
 */
#include "daemon/daemon.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/os/memory.h"
#include "config/places.h"
#include "daemon/part.h"
#include "daemon/sandbox.h"
#include "engine/engine.h"
#include "guard/spec.h"
#include "serve/server.h"
#include "source/source.h"

/* Alerts need the results of the others; push comes last and sends everything. */
const struct part_ops *const daemon_parts[] = {
    &log_changes_ops, &history_part_ops,  &usual_part_ops,    &idle_audit_part_ops, &resume_part_ops, &guard_part_ops,
    &health_part_ops, &capacity_part_ops, &forecast_part_ops, &notify_part_ops,     &hook_part_ops,   &settings_part_ops,
    &alert_part_ops,  &push_part_ops,     &tokens_part_ops,   &ras_part_ops,        &pods_part_ops,   &lease_part_ops,
    &places_part_ops, &remedy_part_ops,   &undo_part_ops,
};
const size_t daemon_part_count = ARRAY_LEN(daemon_parts);
_Static_assert(ARRAY_LEN(daemon_parts) <= PARTS_MAX, "room for all parts");

struct daemon {
    const struct daemon_options *options;
    struct config *first;   /* the initial one: sockets and files use it */
    struct config *current; /* from the last reload, or the first */
    const char *sources[SOURCES_MAX];
    size_t source_count;
    struct part_host host;
    int lock; /* of the state directory; -1: none */
    char socket[PLACE_SIZE], tokens[PLACE_SIZE];
    bool seen_sample;
    struct memory memory;
    struct outside outside; /* runs the programs in the configuration */
    bool confined;
    bool failed, wrong_usage;
};

/* ---- from settings to options ---- */

static size_t copy_list(const struct config_list *list, const char **to, size_t max)
{
    size_t count = MIN_OF(list->count, max);
    for (size_t i = 0; i < count; i++)
        to[i] = list->items[i];
    return count;
}

static struct site_names names_of(const struct config_list *list)
{
    return (struct site_names){list->items, list->count};
}

static_assert(SITE_RULES_MAX == (int)ACCESS_MAX, "what is accepted is applied");

static struct str role_name(int64_t role)
{
    struct str rest = STR(ACCESS_ROLES), name = {0};
    while (str_cut(&rest, '|', &name) && role-- > 0)
        ;
    return name;
}

static void add_rules(const struct config *c, struct site_options *o)
{
    for (size_t i = 0; i < c->access_count && o->rule_count < ARRAY_LEN(o->rules); i++) {
        struct site_rule *rule = &o->rules[o->rule_count++];
        *rule = (struct site_rule){0, names_of(&c->access[i].certificates), names_of(&c->access[i].users),
                                   names_of(&c->access[i].groups)};
        rights_parse(role_name(c->access[i].role), &rule->rights, NULL);
    }
}

static_assert(SITE_NAMES_MAX >= (int)CONFIG_PROXIES_MAX, "what is accepted is applied");

static void add_proxies(const struct config *c, struct site_proxies *p)
{
    char text[512];
    const char *why = text;
    struct config_proxy proxy;
    p->secret = c->server.proxy_secret[0] ? c->server.proxy_secret : NULL;
    for (size_t i = 0; i < c->server.proxies.count; i++) {
        if (!config_proxy_parse(c->server.proxies.items[i], &proxy, text, sizeof text))
            log_warn("a proxy is not believed", LOG_TEXT("error", why)); /* its user was removed after the settings were checked */
        else if (proxy.certificate)
            p->certificates[p->certificate_count++] = proxy.certificate;
        else
            p->users[p->user_count++] = proxy.uid;
    }
}

static struct server_options server_options(struct daemon *d, const struct config *c)
{
    struct server_options o = {
        .engine = d->host.engine,
        .env = d->options->env,
        .site = {.socket_path = d->socket[0] ? d->socket : NULL,
                 .insecure = c->server.insecure,
                 .require_token = c->server.require_token,
                 .tls_certificate = c->server.tls_certificate[0] ? c->server.tls_certificate : NULL,
                 .tls_key = c->server.tls_key[0] ? c->server.tls_key : NULL,
                 .tls_client_ca = c->server.tls_client_ca[0] ? c->server.tls_client_ca : NULL,
                 .proxy_user = c->server.proxy_user,
                 .proxy_groups = c->server.proxy_groups,
                 .token_file = d->tokens[0] ? d->tokens : NULL,
                 .connections_max = (size_t)c->server.max_clients},
        .interval_ms = config_interval_ms(c),
        .max_age_ms = c->server.max_age_ms,
        .high_usage_percent = c->alerts.high_usage_percent,
        .price_per_kwh = c->energy.price_per_kwh,
        .co2_g_per_kwh = c->energy.co2_g_per_kwh,
        .fleet = c->fleet.url[0],
        .mcp = c->server.mcp,
        .control = c->control.allow,
    };
    prometheus_options_init(&o.metrics, &c->metrics, d->options->env);
    str_copy(o.currency, sizeof o.currency, str_from(c->energy.currency));
    str_copy(o.co2_file, sizeof o.co2_file, str_from(c->energy.co2_file));
    add_rules(c, &o.site);
    add_proxies(c, &o.site.proxies);
    if (!(c->server.listen.count == 1 && strcmp(c->server.listen.items[0], "none") == 0))
        o.site.listen_count = copy_list(&c->server.listen, o.site.listen, SITE_LISTEN_MAX);
    o.site.allowed_host_count = copy_list(&c->server.allowed_hosts, o.site.allowed_hosts, SITE_NAMES_MAX);
    o.site.cors_origin_count = copy_list(&c->server.cors_origins, o.site.cors_origins, SITE_NAMES_MAX);
    return o;
}

/* --source takes precedence. */
static void choose_sources(struct daemon *d)
{
    if (d->options->source_count) {
        for (size_t i = 0; i < d->options->source_count && i < SOURCES_MAX; i++)
            d->sources[d->source_count++] = d->options->sources[i];
        return;
    }
    d->source_count = sources_configured(d->first, d->sources, SOURCES_MAX);
}

/* ---- running ---- */

static void on_stop(void *user)
{
    struct daemon *d = user;
    log_info("stopping", LOG_INT("clients", (int64_t)server_clients(d->host.server)));
    sd_notify_send("STOPPING=1\nSTATUS=Disconnecting %zu clients", server_clients(d->host.server));
    server_stop(d->host.server);
}

static void on_watchdog(void *user)
{
    (void)user;
    sd_notify_send("WATCHDOG=1");
}

static void daemon_refuse(struct daemon *d, const char *why, const struct snapshot *s)
{
    log_error(why, LOG_TEXT("error", s->driver.error_message));
    d->failed = true;
    server_stop(d->host.server);
}

/* The first worker whose profile is "desktop"; NULL: none. */
static const char *desktop_worker(const struct config *c)
{
    for (size_t i = 0; i < c->guard_worker_count; i++)
        if (c->guard_worker[i].profile == CONFIG_PROFILE_DESKTOP)
            return c->guard_worker[i].entry.name;
    return NULL;
}

/* Enforces what the settings call mandatory: better no daemon than one that guards nothing. */
static void check_required(struct daemon *d, const struct snapshot *s)
{
    char why[SPEC_NAME_SIZE + 160];
    const char *worker = d->seen_sample ? NULL : desktop_worker(d->first);
    if (worker && !guard_can_see(s)) {
        snprintf(why, sizeof why,
                 "no source lists the processes of a GPU, which profile \"desktop\" of the worker '%s' needs, stopping", worker);
        daemon_refuse(d, why, s);
        return;
    }
    if (d->seen_sample || !d->first->worker.require_nvml)
        return;
    for (size_t i = 0; i < s->source_count; i++)
        if (s->sources[i].names_driver && s->sources[i].state != SOURCE_OFF)
            return;
    daemon_refuse(d, "NVML is required (worker.require_nvml) but not available, stopping", s);
}

static void on_sample(void *user, const struct snapshot *s)
{
    struct daemon *d = user;
    for (size_t i = 0; i < d->host.count; i++)
        if (d->host.parts[i].ops->sampled)
            d->host.parts[i].ops->sampled(d->host.parts[i].self, s);
    check_required(d, s);
    d->seen_sample = true;
    memory_give_back(&d->memory, d->options->env, s->taken);
    size_t clients = server_clients(d->host.server);
    sd_notify_send("STATUS=%zu GPU%s, %zu client%s", s->gpu_count, s->gpu_count == 1 ? "" : "s", clients, clients == 1 ? "" : "s");
}

static void log_problems(const struct config_problems *problems)
{
    for (size_t i = 0; i < problems->count; i++) {
        const struct config_problem *p = &problems->list[i];
        if (p->warning)
            log_warn(p->text, LOG_TEXT("where", p->where));
        else
            log_error(p->text, LOG_TEXT("where", p->where));
    }
}

static const char *first_error(const struct config_problems *problems)
{
    static char text[sizeof problems->list[0].where + sizeof problems->list[0].text + 4];
    for (size_t i = 0; i < problems->count; i++)
        if (!problems->list[i].warning) {
            snprintf(text, sizeof text, "%s: %s", problems->list[i].where, problems->list[i].text);
            return text;
        }
    return "the configuration has mistakes";
}

static bool is_tls(const struct config_change *change)
{
    return strncmp(change->key, "server.tls_", strlen("server.tls_")) == 0;
}

/* A new certificate takes effect at once, but a port keeps the protocol it was opened with. */
static void judge_tls(const struct config *before, const struct config *fresh, struct config_changes *changes)
{
    if (!before->server.tls_certificate[0] == !fresh->server.tls_certificate[0])
        return;
    for (size_t i = 0; i < changes->count; i++)
        if (is_tls(&changes->list[i])) {
            changes->list[i].needs_restart = true;
            changes->applied--;
            changes->needing_restart++;
        }
}

static void reload_server(struct daemon *d, const struct config *fresh, struct config_changes *changes)
{
    struct error err = {0};
    struct server_options o = server_options(d, fresh);
    if (server_reload(d->host.server, &o, &err) == 0)
        return;
    log_error("cannot use the new certificate, keeping the old one", LOG_TEXT("error", err.text));
    for (size_t i = 0; i < changes->count; i++)
        changes->applied -= is_tls(&changes->list[i]);
}

static void apply(struct daemon *d, const struct config *fresh)
{
    struct config_changes changes = {0};
    config_compare(d->current, fresh, &changes);
    judge_tls(d->first, fresh, &changes);
    for (size_t i = 0; i < changes.count; i++)
        if (changes.list[i].needs_restart)
            log_warn("setting changed, but needs a restart", LOG_TEXT("setting", changes.list[i].key));
    if (config_interval_ms(fresh) != config_interval_ms(d->current))
        engine_set_interval(d->host.engine, config_interval_ms(fresh));
    char text[CONFIG_KEY_SIZE];
    const char *name = text;
    if (d->confined && sandbox_finds_new_program(fresh, &d->outside, text, sizeof text))
        log_warn("a new program is confined like the daemon until a restart", LOG_TEXT("setting", name));
    log_set_level((enum log_level)fresh->log.level);
    for (size_t i = 0; i < d->host.count; i++)
        if (d->host.parts[i].ops->reload)
            d->host.parts[i].ops->reload(d->host.parts[i].self, fresh);
    engine_set_findings(d->host.engine, fresh);
    reload_server(d, fresh, &changes);
    log_info("reloaded", LOG_INT("applied", (int64_t)changes.applied),
             LOG_INT("needing_restart", (int64_t)changes.needing_restart));
}

static void on_reload(void *user)
{
    struct daemon *d = user;
    static struct config_problems problems; /* large */
    struct config *fresh = NULL;
    sd_notify_reloading();
    int result = d->options->load(d->options->user, &fresh, &problems);
    log_problems(&problems);
    if (result) {
        log_error("the configuration has mistakes, keeping the old settings");
        settings_part_refuse(part_find(&d->host, &settings_part_ops), first_error(&problems));
    } else {
        apply(d, fresh);
        if (d->current != d->first)
            config_free(d->current);
        d->current = fresh;
    }
    sd_notify_send("READY=1");
}

/* ---- startup and shutdown ---- */

/* Threads inherit the mask: only this thread's event loop handles signals. */
static void block_signals(int how)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGHUP);
    pthread_sigmask(how, &set, NULL);
}

static int watch(struct daemon *d)
{
    int result = server_on_signal(d->host.server, SIGTERM, on_stop, d);
    if (!result)
        result = server_on_signal(d->host.server, SIGINT, on_stop, d);
    if (!result)
        result = server_on_signal(d->host.server, SIGHUP, on_reload, d);
    int64_t watchdog = sd_notify_watchdog_ms();
    if (!result && watchdog)
        result = server_on_timer(d->host.server, watchdog, on_watchdog, d);
    return result;
}

void *part_find(const struct part_host *host, const struct part_ops *ops)
{
    for (size_t i = 0; i < host->count; i++)
        if (host->parts[i].ops == ops)
            return host->parts[i].self;
    return NULL;
}

/* Two daemons would overwrite each other's tokens, journals, silences and health records. */
static int lock_state(struct daemon *d, struct error *err)
{
    char path[PLACE_SIZE];
    pid_t holder = 0;
    struct error inner = {0};
    int rc = place_lock(path, &inner);
    if (rc == 0)
        rc = lock_take(path, &d->lock, &holder, &inner);
    if (rc == -EBUSY)
        return error_set(err, rc,
                         "another daemon (PID %d) is using the state directory %.*s; stop it, or set XDG_STATE_HOME to another one",
                         (int)holder, (int)(strrchr(path, '/') - path), path);
    if (rc < 0)
        log_warn("the state directory is used without a lock", LOG_TEXT("error", inner.text));
    return 0;
}

static int open_part(struct daemon *d, const struct part_ops *ops, struct error *err)
{
    if (d->host.count == PARTS_MAX)
        return error_set(err, -ENOSPC, "too many parts");
    void *self = ops->open(&d->host, err);
    if (!self)
        return err->code ? err->code : error_set(err, -ENOMEM, "out of memory");
    d->host.parts[d->host.count++] = (struct part){ops, self};
    if (ops == &history_part_ops)
        d->host.store = history_part_service(self);
    return 0;
}

static int open_parts(struct daemon *d, struct error *err)
{
    int rc = 0;
    for (size_t i = 0; i < ARRAY_LEN(daemon_parts) && rc == 0; i++)
        rc = open_part(d, daemon_parts[i], err);
    for (size_t i = 0; i < d->options->more_count && rc == 0; i++)
        rc = open_part(d, d->options->more[i], err);
    return rc;
}

static int start_parts(struct daemon *d, struct error *err)
{
    int result = 0;
    for (size_t i = 0; i < d->host.count && !result; i++) {
        const struct part *p = &d->host.parts[i];
        result = p->ops->start ? p->ops->start(p->self, &d->host) : 0;
        if (result)
            error_set(err, result, "cannot start %s: %s", p->ops->name, strerror(-result));
    }
    return result;
}

static int daemon_start(struct daemon *d, struct error *err)
{
    const struct config *c = d->first;
    int result = lock_state(d, err);
    if (result)
        return result;
    if (!place_socket(c->server.socket, d->socket)) {
        d->socket[0] = '\0';
        if (strcmp(c->server.socket, "none") != 0)
            log_warn("there is no directory for the socket; commands on this host won't find the daemon");
    }
    if (place_tokens(d->tokens, err)) {
        log_warn("tokens are not available", LOG_TEXT("error", err->text));
        *err = (struct error){0};
        d->tokens[0] = '\0';
    }
    choose_sources(d);
    for (size_t i = 0; i < d->source_count && !d->host.simulated; i++) {
        const struct source_ops *ops = source_of_spec(d->sources[i], NULL);
        d->host.simulated = ops && ops->simulated ? d->sources[i] : NULL;
    }
    d->host.engine = engine_new(&(struct engine_options){.env = d->options->env,
                                                         .sources = d->source_count ? d->sources : NULL,
                                                         .source_count = d->source_count,
                                                         .start_ms = SOURCE_START_MS,
                                                         .may_rest = true},
                                err);
    if (!d->host.engine) {
        d->wrong_usage = err->code == -EINVAL; /* an unknown source */
        return err->code ? err->code : -EIO;
    }
    engine_set_findings(d->host.engine, c);
    result = open_parts(d, err);
    if (result)
        return result;
    struct server_options o = server_options(d, c);
    const struct server_parts parts = {
        .list = d->host.parts, .count = d->host.count, .store = d->host.store, .sampled = on_sample, .user = d};
    result = server_new(&o, &parts, &d->host.server, err);
    if (!result && watch(d))
        result = error_set(err, -ENOMEM, "cannot watch signals");
    if (!result)
        result = start_parts(d, err);
    if (!result) /* only now are all parts ready for the first sample */
        engine_set_interval(d->host.engine, config_interval_ms(c));
    return result;
}

static void log_start(const struct daemon *d)
{
    const char *address;
    for (size_t i = 0; (address = server_address(d->host.server, i)); i++)
        log_info("listening", LOG_TEXT("address", address));
    if (d->first->server.insecure)
        log_warn("anyone who can reach these addresses can read: no token is required (--insecure)");
    sd_notify_send("READY=1\nSTATUS=Waiting for the first sample");
}

/* Programs in the configuration run outside of the sandbox, through the environment. */
static void log_sandbox(struct daemon *d, struct env *env)
{
    struct sandbox c;
    sandbox_daemon(d->first, &d->outside, &c);
    d->confined = c.seccomp || c.landlock;
    env->outside = d->outside.channel >= 0 ? &d->outside : NULL;
    if (c.reason[0])
        log_info("not confined by the kernel in every way", LOG_TEXT("reason", c.reason), LOG_INT("landlock", c.landlock),
                 LOG_TEXT("seccomp", c.seccomp ? "on" : "off"));
    else
        log_debug("confined", LOG_INT("landlock", c.landlock), LOG_TEXT("seccomp", "on"));
}

int daemon_run(const struct daemon_options *given)
{
    /* static: a thread that hangs in a driver stays behind and uses its environment until the end */
    static struct env env;
    static struct daemon_options own;
    static struct daemon d;
    env = *given->env;
    own = *given;
    own.env = &env;
    const struct daemon_options *options = &own;
    d = (struct daemon){.options = options,
                        .first = options->config,
                        .current = options->config,
                        .lock = -1,
                        .host = {.env = options->env, .config = options->config}};
    struct error err = {0};
    int given_up = privileges_drop();
    if (given_up > 0)
        log_debug("capabilities dropped", LOG_INT("count", given_up));
    else if (given_up < 0)
        log_warn("cannot drop capabilities", LOG_TEXT("error", strerror(-given_up)));
    log_sandbox(&d, &env);
    block_signals(SIG_BLOCK);
    int result = daemon_start(&d, &err);
    block_signals(SIG_UNBLOCK);
    if (result) {
        log_error("cannot start", LOG_TEXT("error", err.text));
    } else {
        log_start(&d);
        server_run(d.host.server);
    }
    /* Stop the engine before the server, which owns the mailboxes that samples go into. */
    engine_end_waits(d.host.engine);
    server_end_work(d.host.server);
    for (size_t i = d.host.count; i-- > 0;)
        if (d.host.parts[i].ops->stop)
            d.host.parts[i].ops->stop(d.host.parts[i].self);
    engine_free(d.host.engine);
    history_part_end(part_find(&d.host, &history_part_ops));
    server_free(d.host.server);
    for (size_t i = d.host.count; i-- > 0;)
        d.host.parts[i].ops->close(d.host.parts[i].self);
    outside_stop(&d.outside);
    if (d.current != d.first)
        config_free(d.current);
    config_free(d.first);
    if (d.lock >= 0)
        close(d.lock);
    if (!result)
        log_info("stopped");
    if (d.wrong_usage)
        return EXIT_USAGE;
    return result || d.failed ? EXIT_FAILED : EXIT_FINE;
}
