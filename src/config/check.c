/* SPDX-License-Identifier: Apache-2.0
 * Constraints between settings: profiles, required settings, references to names.
 */
#include <pwd.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/os/place.h"
#include "config/config_schema.h"
#include "config/host_range.h"
#include "model/finding.h"
#include "model/finding_code.h"
#include "model/severity.h"

enum { PROXY_SECRET_MIN = 16 };

/* Values that a profile implies. Overriding a mandatory one is an error, any other a warning. */
static const struct {
    enum config_profile profile;
    const char *key;
    bool value, mandatory;
} implications[] = {
    {CONFIG_PROFILE_DESKTOP, "auto_evict_for_user_apps", true, true},
    {CONFIG_PROFILE_DESKTOP, "enable_health_monitoring", true, false},
    {CONFIG_PROFILE_SERVER, "auto_evict_for_user_apps", false, false},
    {CONFIG_PROFILE_SERVER, "enable_health_monitoring", true, false},
};

static const char *const profile_names[] = {"none", "desktop", "server"};

void profile_apply(struct config_entry *entry, const struct section *section, struct config_problems *problems)
{
    const struct setting *profile_setting = section_setting(section, STR("profile"));
    if (!profile_setting)
        return;
    int profile = *(const int *)setting_at(entry, profile_setting);
    for (size_t i = 0; i < ARRAY_LEN(implications); i++) {
        const struct setting *s = section_setting(section, str_from(implications[i].key));
        if (!s || (int)implications[i].profile != profile)
            continue;
        bool *value = setting_at(entry, s);
        struct config_origin *origin = (struct config_origin *)&entry->origins[s - section->settings];
        if (origin->kind == CONFIG_FROM_DEFAULT) {
            /* Inherited values were checked in their own section: an explicit value there counts here, too. */
            if (*value != implications[i].value &&
                !(s->fallback[0] == '=' && !entry->origins[profile_setting - section->settings].line)) {
                *value = implications[i].value;
                *origin = (struct config_origin){CONFIG_FROM_PROFILE, profile_names[profile], 0, 0};
            }
        } else if (*value != implications[i].value) {
            problem_add(problems, !implications[i].mandatory, origin, "%s.%s = %s contradicts profile \"%s\"%s", section->path,
                        s->key, *value ? "true" : "false", profile_names[profile],
                        implications[i].mandatory ? ", which requires it" : "; this setting wins");
        }
    }
}

/* A secret in a file that this user can't read: there is one. */
static bool is_unread(const struct config_origin *origin)
{
    return origin->kind == CONFIG_FROM_FILE && !origin->line;
}

static void check_required(const struct config *config, const struct section *section, struct config_problems *problems)
{
    for (size_t e = 0; e < section_entries(config, section); e++) {
        const struct config_entry *entry = section_entry(config, section, e);
        for (size_t k = 0; k < section->count; k++) {
            const struct setting *s = &section->settings[k];
            if (!(s->flags & REQUIRED))
                continue;
            bool empty = s->type == SETTING_TEXT && !(*(const char *const *)setting_at(entry, s))[0];
            if (entry->origins[k].kind == CONFIG_FROM_DEFAULT)
                problem_add(problems, false, &entry->at, "%s.%s%s%s is missing: %s", section->path, entry->name,
                            entry->name[0] ? "." : "", s->key, s->help);
            else if (empty && !is_unread(&entry->origins[k]))
                problem_add(problems, false, &entry->origins[k], "%s.%s must not be empty", section->path, s->key);
        }
    }
}

static void check_notify_names(const struct config *config, const struct config_list *names, const struct config_origin *origin,
                               struct config_problems *problems)
{
    for (size_t i = 0; i < names->count; i++) {
        struct nearest nearest;
        nearest_init(&nearest, names->items[i]);
        for (size_t k = 0; k < config->notify_count; k++)
            nearest_try(&nearest, config->notify[k].entry.name);
        char hint[CONFIG_KEY_SIZE + 32];
        if (nearest.distance > 0)
            problem_add(problems, false, origin, "there is no [notify.%s]%s", names->items[i],
                        nearest_text(&nearest, hint, sizeof hint));
    }
}

const struct config_origin *config_origin_of(const struct config_entry *entry, const char *section, const char *key)
{
    const struct section *s = section_find(str_from(section));
    return &entry->origins[section_setting(s, str_from(key)) - s->settings];
}

static void check_notify(const struct config *config, struct config_problems *problems)
{
    for (size_t i = 0; i < config->notify_count; i++) {
        const struct config_notify *n = &config->notify[i];
        bool command = n->type == CONFIG_NOTIFY_COMMAND;
        if (command && n->command.count == 0)
            problem_add(problems, false, &n->entry.at, "notify.%s.command is missing: type is \"command\"", n->entry.name);
        bool known = n->type == CONFIG_NOTIFY_TELEGRAM || n->type == CONFIG_NOTIFY_PUSHOVER || /* one fixed server */
                     n->type == CONFIG_NOTIFY_DESKTOP;
        if (!command && !known && !n->url[0] && !is_unread(config_origin_of(&n->entry, "notify", "url")))
            problem_add(problems, false, &n->entry.at, "notify.%s.url is missing", n->entry.name);
    }
    check_notify_names(config, &config->alerts.notify, config_origin_of(&config->alerts.entry, "alerts", "notify"), problems);
    for (size_t i = 0; i < config->alert_count; i++)
        check_notify_names(config, &config->alert[i].notify, config_origin_of(&config->alert[i].entry, "alert", "notify"),
                           problems);
}

static void check_findings(const struct config *config, struct config_problems *problems)
{
    for (size_t i = 0; i < config->finding_count; i++) {
        const struct config_finding *f = &config->finding[i];
        finding_code code;
        char hint[CONFIG_KEY_SIZE + 32];
        struct nearest nearest;
        check_notify_names(config, &f->notify, config_origin_of(&f->entry, "finding", "notify"), problems);
        if (finding_code_from_name(f->entry.name, &code))
            continue;
        nearest_init(&nearest, f->entry.name);
        for (size_t k = 0; k < FINDING_CODE_COUNT; k++)
            nearest_try(&nearest, finding_code_name((finding_code)k));
        problem_add(problems, false, &f->entry.at, "there is no finding '%s'%s", f->entry.name,
                    nearest_found(&nearest) ? nearest_text(&nearest, hint, sizeof hint) : "; `whirr why --codes` lists them");
    }
}

/* A hook may name a finding, a configured alert, or a severity. */
static void check_hook_name(const struct config *config, const struct config_hook *h, const char *name,
                            struct config_problems *problems)
{
    finding_code code;
    enum severity severity;
    struct nearest nearest;
    char hint[CONFIG_KEY_SIZE + 32];
    if (finding_code_from_name(name, &code) || severity_from_text(name, &severity))
        return;
    nearest_init(&nearest, name);
    for (size_t k = 0; k < FINDING_CODE_COUNT; k++)
        nearest_try(&nearest, finding_code_name((finding_code)k));
    for (size_t k = 0; k < config->alert_count; k++)
        nearest_try(&nearest, config->alert[k].name);
    if (nearest.distance > 0)
        problem_add(problems, false, config_origin_of(&h->entry, "hook", "on"), "there is no finding, alert or severity '%s'%s",
                    name,
                    nearest_found(&nearest) ? nearest_text(&nearest, hint, sizeof hint) : "; `whirr why --codes` lists findings");
}

static void check_hooks(const struct config *config, struct config_problems *problems)
{
    for (size_t i = 0; i < config->hook_count; i++) {
        const struct config_hook *h = &config->hook[i];
        for (size_t k = 0; k < h->on.count; k++)
            check_hook_name(config, h, h->on.items[k], problems);
        if (h->run.count && !path_is_whole(h->run.items[0]))
            problem_add(problems, false, config_origin_of(&h->entry, "hook", "run"),
                        "hook.%s.run must begin with the whole path of a program", h->entry.name);
    }
}

/* A worker released above the limit would be evicted again at once. 0 means five degrees below. */
static void check_release(const struct config_entry *entry, const char *section, double threshold, double release,
                          struct config_problems *problems)
{
    const struct config_origin *origin = config_origin_of(entry, section, "temperature_release_celsius");
    if (origin->kind == CONFIG_FROM_DEFAULT) /* inherited from [worker]: the limit was lowered here */
        origin = config_origin_of(entry, section, "temperature_threshold_celsius");
    if (release > threshold)
        problem_add(problems, false, origin, "%s%s%s.temperature_release_celsius (%g) is above temperature_threshold_celsius (%g)",
                    section, entry->name[0] ? "." : "", entry->name, release, threshold);
}

static void check_releases(const struct config *config, struct config_problems *problems)
{
    const struct config_worker *shared = &config->worker;
    bool wrong = shared->temperature_release_celsius > shared->temperature_threshold_celsius;
    check_release(&shared->entry, "worker", shared->temperature_threshold_celsius, shared->temperature_release_celsius, problems);
    for (size_t i = 0; i < config->guard_worker_count; i++) {
        const struct config_guard_worker *w = &config->guard_worker[i];
        bool inherited = wrong && w->temperature_release_celsius == shared->temperature_release_celsius &&
                         w->temperature_threshold_celsius == shared->temperature_threshold_celsius;
        if (!inherited) /* report it once */
            check_release(&w->entry, "guard.worker", w->temperature_threshold_celsius, w->temperature_release_celsius, problems);
    }
}

static bool is_address(const struct str_place *place)
{
    return place->bracketed || (place->host.len && strspn(place->host.at, "0123456789.") >= place->host.len);
}

/* Whether requests to `place` may reach the gate: a name may resolve to any address of this host. */
static bool may_be_gate(const char *listen, const struct str_place *place)
{
    struct str_place gate;
    return strcmp(listen, "none") != 0 && str_to_listen(str_from(listen), &gate) && gate.port == place->port &&
           (str_place_covers(&gate, place) || str_place_is_any(&gate) || !is_address(&gate) ||
            (!is_address(place) && !str_is_loopback(place->host)));
}

/* Polling a gate would bring an evicted worker back. */
static void check_serving_gates(const struct config *config, const struct config_serving *s, const struct str_place *place,
                                struct config_problems *problems)
{
    for (size_t i = 0; i < config->guard_worker_count; i++)
        if (may_be_gate(config->guard_worker[i].gate, place))
            problem_add(problems, false, config_origin_of(&s->entry, "serving", "url"),
                        "serving.%s.url is the gate of guard.worker.%s, which each request would wake: use the worker's own url",
                        s->entry.name, config->guard_worker[i].entry.name);
}

static void check_serving_url(const struct config *config, const struct config_serving *s, struct config_problems *problems)
{
    const struct config_origin *origin = config_origin_of(&s->entry, "serving", "url");
    struct str_place place;
    const char *rest = strstr(s->url, "://") + 3;
    size_t host = strcspn(rest, "/?#");
    if (!str_to_url_place(s->url, &place) || memchr(rest, '@', host) || (rest[host] && strcmp(rest + host, "/") != 0)) {
        problem_add(problems, false, origin,
                    "serving.%s.url: expected http:// or https:// with a host and a port, and nothing else", s->entry.name);
        return;
    }
    if (!s->ignore)
        check_serving_gates(config, s, &place, problems);
    if (!s->process[0] && !s->ignore && !str_is_loopback(place.host))
        problem_add(problems, false, origin,
                    "serving.%s.url is not on loopback: set process to the process on the GPU that it belongs to, or its container",
                    s->entry.name);
    if ((s->key[0] || s->key_file[0]) && str_starts(str_from(s->url), "http://") && !str_is_loopback(place.host))
        problem_add(problems, true, origin, "serving.%s: the key is sent unencrypted to another address; use https://",
                    s->entry.name);
}

static bool is_printable(const char *text)
{
    for (; *text; text++)
        if (*text < '!' || *text > '~')
            return false;
    return true;
}

static void check_serving(const struct config *config, struct config_problems *problems)
{
    for (size_t i = 0; i < config->serving_count; i++) {
        const struct config_serving *s = &config->serving[i];
        if (!s->url[0] && !s->process[0] && !s->kind && !problems->errors) /* if there are errors, an invalid one was reported
                                                                            * already */
            problem_add(problems, false, &s->entry.at, "serving.%s needs a url, a process or a kind", s->entry.name);
        if (s->key[0] && s->key_file[0])
            problem_add(problems, false, config_origin_of(&s->entry, "serving", "key_file"),
                        "serving.%s: key and key_file contradict each other", s->entry.name);
        if (!is_printable(s->key)) /* don't quote the secret */
            problem_add(problems, false, config_origin_of(&s->entry, "serving", "key"),
                        "serving.%s.key: expected letters, digits and signs, without blanks", s->entry.name);
        if (s->url[0])
            check_serving_url(config, s, problems);
    }
}

static bool is_label_name(const char *name)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
    bool reserved = name[0] == '_' && name[1] == '_'; /* reserved by Prometheus */
    return name[0] && !(name[0] >= '0' && name[0] <= '9') && name[strspn(name, letters)] == '\0' && !reserved;
}

static void check_metrics(const struct config *config, struct config_problems *problems)
{
    const struct config_metrics *m = &config->metrics;
    for (size_t i = 0; i < m->sets.count; i++)
        if (strcmp(m->sets.items[i], "dcgm") != 0 && strcmp(m->sets.items[i], "dcgm-4.8") != 0 &&
            strcmp(m->sets.items[i], "nvidia_smi") != 0)
            problem_add(problems, false, config_origin_of(&m->entry, "metrics", "sets"),
                        "metrics.sets: unknown set '%s'; expected dcgm, dcgm-4.8 or nvidia_smi", m->sets.items[i]);
    for (size_t i = 0; i < m->labels.count; i++)
        if (!is_label_name(m->labels.pairs[i].key))
            problem_add(problems, false, config_origin_of(&m->entry, "metrics", "labels"),
                        "metrics.labels: invalid label name '%s'; expected letters, digits and _, not first a digit or two _",
                        m->labels.pairs[i].key);
}

static void check_fleet(const struct config *config, struct config_problems *problems)
{
    struct host_range range;
    for (size_t i = 0; i < config->fleet.expect.count; i++)
        if (!host_range_parse(str_from(config->fleet.expect.items[i]), &range))
            problem_add(problems, false, config_origin_of(&config->fleet.entry, "fleet", "expect"),
                        "fleet.expect: invalid entry '%s'; expected like \"gpu[001-128]=8\", \"dgx7=8\" or \"*=8\"",
                        config->fleet.expect.items[i]);
}

bool config_proxy_parse(const char *text, struct config_proxy *ret, char *why, size_t size)
{
    struct str rest = str_from(text), kind;
    uint64_t uid;
    *ret = (struct config_proxy){0};
    bool typed = str_cut(&rest, ':', &kind) && rest.len && !str_is_address(str_from(text));
    if (typed && str_is(kind, "certificate")) {
        ret->certificate = rest.at;
        return true;
    }
    if (!typed || !str_is(kind, "unix")) {
        snprintf(
            why, size,
            "'%s' proves nothing: every program at an address can claim to be anyone there. Let the proxy use the Unix socket and "
            "name its user (\"unix:www-data\"), show a certificate (\"certificate:NAME\"), or send server.proxy_secret",
            text);
        return false;
    }
    bool number = str_to_u64(rest, &uid) && uid < UINT32_MAX;
    const struct passwd *user = number ? NULL : getpwnam(rest.at);
    if (user)
        uid = user->pw_uid;
    if (!number && !user) {
        snprintf(why, size, "there is no user '%s' on this host; expected a name, or its number (\"unix:33\")", rest.at);
        return false;
    }
    ret->uid = (uid_t)uid;
    if (uid == 0)
        snprintf(why, size,
                 "'%s' is refused: root's own commands would be taken for a proxy's; let the proxy run as a user of its own", text);
    return uid != 0;
}

static void check_proxies(const struct config *config, struct config_problems *problems)
{
    const struct config_server *server = &config->server;
    const struct config_origin *origin = config_origin_of(&server->entry, "server", "proxies");
    struct config_proxy proxy;
    char why[400];
    if (server->proxies.count > CONFIG_PROXIES_MAX)
        problem_add(problems, false, origin, "server.proxies: more than %d", CONFIG_PROXIES_MAX);
    for (size_t i = 0; i < server->proxies.count; i++) {
        if (!config_proxy_parse(server->proxies.items[i], &proxy, why, sizeof why))
            problem_add(problems, false, origin, "server.proxies: %s", why);
        else if (proxy.certificate && !server->tls_client_ca[0])
            problem_add(problems, false, origin, "server.proxies: '%s' needs server.tls_client_ca, whose certificates are believed",
                        server->proxies.items[i]);
    }
    if (server->proxy_secret[0] && (strlen(server->proxy_secret) < PROXY_SECRET_MIN || !is_printable(server->proxy_secret)))
        problem_add(problems, false, config_origin_of(&server->entry, "server", "proxy_secret"), /* don't quote the secret */
                    "server.proxy_secret has to have at least %d letters, digits and signs, without blanks; "
                    "make one with: openssl rand -hex 32",
                    PROXY_SECRET_MIN);
}

/* A table without a client, or with one this server can't authenticate, would only look like a permission. */
static void check_access(const struct config *config, struct config_problems *problems)
{
    const struct config_server *server = &config->server;
    if (config->access_count > ACCESS_MAX)
        problem_add(problems, false, &config->access[ACCESS_MAX].entry.at, "more than %d [access.NAME] tables", ACCESS_MAX);
    for (size_t i = 0; i < config->access_count; i++) {
        const struct config_access *a = &config->access[i];
        if (a->certificates.count + a->users.count + a->groups.count == 0)
            problem_add(problems, false, &a->entry.at, "access.%s names no client: set certificates, users or groups",
                        a->entry.name);
        if (a->certificates.count && !server->tls_client_ca[0])
            problem_add(problems, false, config_origin_of(&a->entry, "access", "certificates"),
                        "access.%s.certificates needs server.tls_client_ca, whose certificates are believed", a->entry.name);
        if (a->users.count + a->groups.count && !server->proxies.count && !server->proxy_secret[0])
            problem_add(problems, true, config_origin_of(&a->entry, "access", a->users.count ? "users" : "groups"),
                        "access.%s.%s needs server.proxies or server.proxy_secret, which say whose word is believed", a->entry.name,
                        a->users.count ? "users" : "groups");
        else if (a->groups.count && !server->proxy_groups[0])
            problem_add(problems, false, config_origin_of(&a->entry, "access", "groups"),
                        "access.%s.groups needs server.proxy_groups: the field that the proxy sets in every request, "
                        "like \"X-Forwarded-Groups\"",
                        a->entry.name);
    }
    check_proxies(config, problems);
    if (server->tls_client_ca[0] && !server->tls_certificate[0])
        problem_add(
            problems, false, config_origin_of(&server->entry, "server", "tls_client_ca"),
            "server.tls_client_ca needs server.tls_certificate and server.tls_key: without TLS no client shows a certificate");
}

static bool listens_on_loopback(const struct config_server *server)
{
    struct str_place place;
    for (size_t i = 0; i < server->listen.count; i++)
        if (str_to_place(str_from(server->listen.items[i]), &place) && str_is_loopback(place.host))
            return true;
    return false;
}

void config_check(const struct config *config, struct config_problems *problems)
{
    for (size_t i = 0; i < config_section_count; i++)
        if (config_sections[i].kind != SECTION_PLAIN)
            check_required(config, &config_sections[i], problems);
    check_notify(config, problems);
    check_findings(config, problems);
    check_hooks(config, problems);
    check_releases(config, problems);
    check_metrics(config, problems);
    check_serving(config, problems);
    check_fleet(config, problems);
    check_access(config, problems);

    const struct config_server *server = &config->server;
    if (!server->tls_certificate[0] != !server->tls_key[0])
        problem_add(problems, false, config_origin_of(&server->entry, "server", server->tls_key[0] ? "tls_key" : "tls_certificate"),
                    "server.tls_certificate and server.tls_key belong together, only one is set");
    if (server->insecure && server->require_token)
        problem_add(problems, false, config_origin_of(&server->entry, "server", "require_token"),
                    "server.require_token and server.insecure contradict each other");
    else if (server->allowed_hosts.count && !server->insecure && !server->require_token && listens_on_loopback(server))
        problem_add(problems, true, config_origin_of(&server->entry, "server", "allowed_hosts"),
                    "a proxy on this host that adds no X-Forwarded-For or Forwarded lets everyone read: "
                    "set server.require_token = true");
    const struct config_worker *worker = &config->worker;
    if (worker->require_nvml && !worker->enable_nvml)
        problem_add(problems, false, config_origin_of(&worker->entry, "worker", "require_nvml"),
                    "worker.require_nvml is true, but worker.enable_nvml is false");
}

bool config_guards_nothing(const struct config *config)
{
    const struct config_entry *entry = &config->worker.entry;
    const struct config_origin *evicts = config_origin_of(entry, "worker", "auto_evict_for_user_apps");
    const struct config_origin *profile = config_origin_of(entry, "worker", "profile");
    bool asked = (evicts && evicts->kind != CONFIG_FROM_DEFAULT) || (profile && profile->kind != CONFIG_FROM_DEFAULT);
    return config->guard_worker_count == 0 && config->worker.auto_evict && asked;
}
