/* SPDX-License-Identifier: Apache-2.0
 * Sends over HTTP, by mail and through programs, and interprets the responses.
 */
#include "alert/notify/send.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/secret/mask.h"
#include "net/http_client.h"

/* ---- a target: a copy of its table that outlives the configuration ---- */

static const char *const type_names[] = {"webhook",  "slack",  "discord",  "ntfy",   "alertmanager", "command", "email",
                                         "telegram", "gotify", "pushover", "matrix", "desktop",      "mqtt"};

const char *notify_type_name(enum config_notify_type type)
{
    return (size_t)type < ARRAY_LEN(type_names) ? type_names[type] : NULL;
}

/* The shortest interval between messages that a service asks for; faster notices are sent together. */
static int64_t polite_interval_ms(enum config_notify_type type)
{
    switch (type) {
    case CONFIG_NOTIFY_SLACK: return 1000;    /* one message per second */
    case CONFIG_NOTIFY_DISCORD: return 500;   /* five in two seconds */
    case CONFIG_NOTIFY_TELEGRAM: return 1000; /* one per second and chat */
    default: return 0;
    }
}

/* Shows scheme://host:port/... without path, query, user and password. */
static void show_url(const char *url, char shown[NOTIFIER_TARGET_SIZE])
{
    AUTO_BUF struct buf masked = BUF(16 * 1024);
    mask_text(str_from(url), &masked); /* masks what remains of a password that contains URL delimiters */
    url = masked.at ? masked.at : "";
    const char *host = strstr(url, "://");
    size_t scheme = host ? (size_t)(host - url) + 3 : 0;
    size_t len = strcspn(url + scheme, "/?#");
    const char *at = memrchr(url + scheme, '@', len), *from = at ? at + 1 : url + scheme;
    size_t rest = len - (size_t)(from - (url + scheme));
    snprintf(shown, NOTIFIER_TARGET_SIZE, "%.*s%.*s%s", (int)scheme, url, (int)MIN_OF(rest, (size_t)120), from,
             url[scheme + len] ? "/..." : "");
}

static bool copy_headers(struct notify_target *t, const struct config_map *map)
{
    size_t count = 0;
    for (size_t i = 0; i < map->count && count < NOTIFY_HEADERS_MAX; i++) {
        const struct config_pair *pair = &map->pairs[i];
        size_t size = strlen(pair->key) + strlen(pair->value) + 3;
        if (strpbrk(pair->key, "\r\n:") || strpbrk(pair->value, "\r\n"))
            continue; /* not a valid header; `whirr config check` reports it */
        if (str_is_any_case(str_from(pair->key), "content-type")) {
            free(t->content_type);
            t->content_type = strdup(pair->value);
            if (!t->content_type)
                return false;
            continue;
        }
        t->headers[count] = malloc(size);
        if (!t->headers[count])
            return false;
        snprintf(t->headers[count++], size, "%s: %s", pair->key, pair->value);
    }
    return true;
}

static bool copy_command(struct notify_target *t, const struct config_list *list)
{
    for (size_t i = 0; i < MIN_OF(list->count, (size_t)NOTIFY_ARGUMENTS_MAX); i++)
        if (!(t->command[i] = strdup(list->items[i])))
            return false;
    return true;
}

static bool copy_recipients(struct notify_target *t, const struct config_list *list)
{
    for (size_t i = 0; i < MIN_OF(list->count, (size_t)NOTIFY_RECIPIENTS_MAX); i++)
        if (!(t->to[i] = strdup(list->items[i])))
            return false;
    return true;
}

/* Shows the server, which people recognize. Recipients are private. */
static void show_target(struct notify_target *t)
{
    switch (t->type) {
    case CONFIG_NOTIFY_COMMAND: str_copy(t->shown, sizeof t->shown, str_from(t->command[0] ? t->command[0] : "")); return;
    case CONFIG_NOTIFY_DESKTOP: str_copy(t->shown, sizeof t->shown, STR("desktop session")); return;
    case CONFIG_NOTIFY_TELEGRAM: show_url(t->url[0] ? t->url : "https://api.telegram.org", t->shown); return;
    case CONFIG_NOTIFY_PUSHOVER: show_url(t->url[0] ? t->url : "https://api.pushover.net", t->shown); return;
    default: show_url(t->url, t->shown);
    }
}

static void join_lines(const struct config_list *list, char text[NOTIFIER_HOURS_SIZE])
{
    AUTO_BUF struct buf all = BUF(64 * 1024);
    for (size_t i = 0; i < list->count; i++)
        buf_printf(&all, "%s%s", i ? "\n" : "", list->items[i]);
    str_copy(text, NOTIFIER_HOURS_SIZE, buf_view(&all));
}

/* The global quiet hours are for people: programs may set their own. */
static void set_hours(struct notify_target *t, const struct config_notify *c)
{
    bool program = t->type == CONFIG_NOTIFY_ALERTMANAGER || t->type == CONFIG_NOTIFY_MQTT;
    bool inherited = c->entry.origins && config_origin_of(&c->entry, "notify", "quiet")->kind == CONFIG_FROM_DEFAULT;
    if (!(program && inherited) && quiet_parse(&c->quiet, false, &t->rules.quiet, NULL) == 0)
        join_lines(&c->quiet, t->quiet_text);
    if (quiet_parse(&c->digest, true, &t->rules.digest, NULL) == 0)
        join_lines(&c->digest, t->digest_text);
}

struct notify_target *notify_target_new(const struct config_notify *c)
{
    struct notify_target *t = calloc(1, sizeof *t);
    if (!t)
        return NULL;
    str_copy(t->name, sizeof t->name, str_from(c->entry.name));
    t->type = (enum config_notify_type)c->type;
    t->timeout_ms = c->timeout_ms;
    int64_t interval = MAX_OF(c->min_interval_ms, polite_interval_ms(t->type));
    bool alertmanager = t->type == CONFIG_NOTIFY_ALERTMANAGER;
    t->rules = (struct outbox_rules){
        .send_resolved = c->resolved || alertmanager, /* Alertmanager decides itself whom to notify */
        .group = c->group_wait_ms > 0 || interval > 0 || alertmanager,
        .group_max = notify_group_max(t->type),
        .group_wait_ms = c->group_wait_ms,
        .min_interval_ms = interval,
        .repeat_ms = alertmanager ? ALERTMANAGER_RESEND_MS : 0,
    };
    set_hours(t, c);
    t->url = strdup(c->url);
    t->template_text = strdup(c->template);
    t->token = strdup(c->token);
    t->from = strdup(c->from);
    t->user = strdup(c->user);
    t->password = strdup(c->password);
    t->tls_ca = strdup(c->tls_ca);
    t->topic = strdup(c->topic);
    t->discovery = strdup(c->discovery);
    t->clear = c->tls == CONFIG_NOTIFY_TLS_NONE;
    bool good = t->url && t->template_text && t->token && t->from && t->user && t->password && t->tls_ca && t->topic &&
                t->discovery && copy_headers(t, &c->headers) && copy_command(t, &c->command) && copy_recipients(t, &c->to);
    if (!good) {
        notify_target_free(t);
        return NULL;
    }
    show_target(t);
    return t;
}

void notify_target_free(struct notify_target *t)
{
    if (!t)
        return;
    broker_close(t);
    desktop_close(t->desktop);
    free(t->topic);
    free(t->discovery);
    free(t->url);
    free(t->template_text);
    free(t->content_type);
    free(t->token);
    free(t->from);
    free(t->user);
    free(t->password);
    free(t->tls_ca);
    for (size_t i = 0; i < NOTIFY_RECIPIENTS_MAX; i++)
        free(t->to[i]);
    for (size_t i = 0; i < NOTIFY_HEADERS_MAX; i++)
        free(t->headers[i]);
    for (size_t i = 0; i < NOTIFY_ARGUMENTS_MAX; i++)
        free(t->command[i]);
    free(t);
}

enum { ANSWER_MAX = 256 * 1024, TRY_AGAIN = 75 /* EX_TEMPFAIL in sysexits.h */ };

/* ---- hiding secrets ---- */

/* A server's error page often repeats the requested path, including a token in it. */
static void hide(char *text, const char *secret, size_t len)
{
    if (len < 4)
        return;
    for (char *at = text; *at;) {
        if (strncmp(at, secret, len) != 0) {
            at++;
            continue;
        }
        memcpy(at, "...", 3);
        memmove(at + 3, at + len, strlen(at + len) + 1);
        at += 3;
    }
}

static void hide_secrets(char *text, const struct notify_target *t)
{
    hide(text, t->token, strlen(t->token));
    hide(text, t->password, strlen(t->password));
    for (size_t i = 0; t->to[i]; i++)
        hide(text, t->to[i], strlen(t->to[i]));
    const char *host = strstr(t->url, "://");
    host = host ? host + 3 : t->url;
    const char *path = host + strcspn(host, "/?#");
    const char *at = memchr(host, '@', (size_t)(path - host));
    if (at)
        hide(text, host, (size_t)(at - host));
    hide(text, path, strlen(path));
    /* Also hide each part of the path: "Unknown webhook 123/abc". */
    for (const char *part = path; *part;) {
        size_t len = strcspn(part, "/?&=#");
        if (len >= 8)
            hide(text, part, len);
        part += len + (part[len] != '\0');
    }
    for (size_t i = 0; t->headers[i]; i++) {
        const char *value = strstr(t->headers[i], ": ");
        const char *last = value ? strrchr(value, ' ') : NULL; /* "Bearer TOKEN" */
        if (last)
            hide(text, last + 1, strlen(last + 1));
    }
    mask_here(text, strlen(text) + 1); /* also mask secrets that a program or server prints itself */
}

static void keep_answer(struct notify_attempt *a, const struct notify_target *t, const struct buf *answer)
{
    char text[2048];
    str_copy_clean(text, sizeof text, str_trim(buf_view(answer)));
    hide_secrets(text, t);
    str_copy(a->answer, sizeof a->answer, str_from(text));
}

/* ---- HTTP ---- */

/* Discord and Telegram put the delay in the body, in fractional seconds; Matrix in milliseconds. */
static int64_t pause_in_body(struct str body)
{
    static const struct {
        const char *key;
        double unit_ms;
    } keys[] = {{"\"retry_after\":", MS_PER_S}, {"\"retry_after_ms\":", 1}};
    for (size_t k = 0; k < ARRAY_LEN(keys); k++) {
        const char *at = body.at ? memmem(body.at, body.len, keys[k].key, strlen(keys[k].key)) : NULL;
        if (!at)
            continue;
        at += strlen(keys[k].key);
        struct str rest = str_trim((struct str){at, body.len - (size_t)(at - body.at)});
        double number = 0;
        size_t digits = 0;
        while (digits < rest.len && strchr("0123456789.", rest.at[digits]))
            digits++;
        rest.len = digits;
        return str_to_double(rest, &number) ? (int64_t)MIN_OF(number * keys[k].unit_ms, 86400e3) + 1 : 0;
    }
    return 0;
}

static const char *meaning(int status)
{
    switch (status) {
    case 401:
    case 403: return "not permitted: check the token or the URL";
    case 404:
    case 410: return "nothing there: check the URL";
    case 413: return "too long for it";
    case 429: return "too many messages";
    default: break;
    }
    if (status >= 300 && status < 400)
        return "moved elsewhere: write the new URL";
    return status >= 500 ? "an error of its own" : "refused";
}

static void judge_status(struct notify_attempt *a, int status, int64_t pause_ms, const struct notify_target *t,
                         const struct buf *body)
{
    a->status = status;
    keep_answer(a, t, body);
    if (status >= 200 && status < 300) {
        a->result = OUTBOX_SENT;
        return;
    }
    bool later = status >= 500 || status == 408 || status == 425 || status == 429;
    a->result = later ? OUTBOX_FAILED : OUTBOX_REFUSED;
    a->pause_ms = later ? pause_ms : 0;
    if (status == 429 && !a->pause_ms)
        a->pause_ms = pause_in_body(buf_view(body));
    snprintf(a->error, sizeof a->error, "it answered %d (%s)%s%.120s", status, meaning(status), a->answer[0] ? ": " : "",
             a->answer);
}

static void post(const struct env *env, const struct notify_target *t, const struct notify_message *m, const _Atomic bool *cancel,
                 struct notify_attempt *a)
{
    AUTO_BUF struct buf answer = BUF(ANSWER_MAX);
    struct error err = {0};
    int64_t pause_ms = 0;
    const char *headers[NOTIFY_HEADERS_MAX + 2] = {0};
    size_t count = 0;
    if (m->authorization[0])
        headers[count++] = m->authorization;
    for (size_t i = 0; t->headers[i]; i++)
        headers[count++] = t->headers[i];
    const struct http_request request = {
        .method = m->method,
        .url = m->url,
        .body = m->body.at,
        .content_type = t->content_type ? t->content_type : m->content_type,
        .headers = headers,
        .tls_ca = t->tls_ca[0] ? t->tls_ca : NULL,
        .timeout_ms = t->timeout_ms,
        .connect_timeout_ms = MIN_OF(t->timeout_ms, (int64_t)5000),
        .secret_url = true,
        .only_connect = t->only_connect,
        .status_is_enough = true, /* don't resend an accepted message, even if the response is cut off */
        .retry_after_ms = &pause_ms,
        .cancel = cancel,
    };
    int status = http_call(env, &request, &answer, &err);
    if (t->only_connect && status == 0) {
        a->result = OUTBOX_SENT;
        return;
    }
    if (status >= 100) {
        judge_status(a, status, pause_ms, t, &answer);
        return;
    }
    a->result = status == -ECANCELED ? OUTBOX_CANCELLED : status == -EINVAL ? OUTBOX_REFUSED : OUTBOX_FAILED;
    char text[sizeof err.text];
    str_copy_clean(text, sizeof text, str_from(err.text));
    hide_secrets(text, t);
    str_copy(a->error, sizeof a->error, str_from(text));
}

/* ---- mail ---- */

/* SMTP 4xx means "later", 5xx "never"; a refused login won't succeed later. */
static void mail(const struct env *env, const struct notify_target *t, const struct notify_message *m, const _Atomic bool *cancel,
                 struct notify_attempt *a)
{
    struct error err = {0};
    int rc = email_send(env, t, m, cancel, &a->status, &err);
    if (rc >= 0) {
        a->result = OUTBOX_SENT;
        return;
    }
    char text[sizeof err.text];
    str_copy_clean(text, sizeof text, str_from(err.text));
    hide_secrets(text, t);
    bool refused = rc == -EACCES || rc == -EINVAL || rc == -EPROTO || a->status >= 500;
    a->result = rc == -ECANCELED ? OUTBOX_CANCELLED : refused ? OUTBOX_REFUSED : OUTBOX_FAILED;
    snprintf(a->error, sizeof a->error, "%.160s%s", text, rc == -EACCES ? ": check user and password" : "");
}

/* ---- programs ---- */

static void run(const struct env *env, const struct notify_target *t, const struct notify_message *m, const _Atomic bool *cancel,
                struct notify_attempt *a)
{
    AUTO_BUF struct buf out = BUF(ANSWER_MAX), diag = BUF(ANSWER_MAX);
    struct error err = {0};
    const struct launch launch = {.argv = (const char *const *)t->command,
                                  .timeout_ms = t->timeout_ms,
                                  .out = &out,
                                  .err = &diag,
                                  .in = buf_view(&m->body),
                                  .cancel = cancel};
    int status = env->launch(env, &launch, &err);
    keep_answer(a, t, diag.len ? &diag : &out);
    if (status < 0) {
        a->result = status == -ECANCELED ? OUTBOX_CANCELLED : OUTBOX_REFUSED;
        str_copy(a->error, sizeof a->error, str_from(err.text));
        return;
    }
    a->status = status;
    a->result = status == 0 ? OUTBOX_SENT : status == TRY_AGAIN ? OUTBOX_FAILED : OUTBOX_REFUSED;
    if (status > 128)
        snprintf(a->error, sizeof a->error, "it was ended by signal %d%s%.120s", status - 128, a->answer[0] ? ": " : "", a->answer);
    else if (status)
        snprintf(a->error, sizeof a->error, "it ended with %d%s%.120s", status, a->answer[0] ? ": " : "", a->answer);
}

void notify_target_address(const struct notify_target *t, struct notify_address *ret)
{
    *ret = (struct notify_address){
        .type = t->type, .url = t->url, .template_text = t->template_text, .token = t->token, .from = t->from};
    for (size_t i = 0; t->to[i]; i++)
        ret->to[i] = t->to[i];
}

/* ---- desktop ---- */

static void show_on_desktop(const struct env *env, struct notify_target *t, const struct notice_group *group, const char *own,
                            struct notify_attempt *a)
{
    AUTO_BUF struct buf title = BUF(4096), body = BUF(64 * 1024);
    const struct alert_notice *n = group->list[0];
    struct error err = {0};
    notice_title(n, group->count, &title);
    if (own)
        buf_text(&body, own);
    else
        notice_texts(group, false, &body);
    bool critical = n->status == NOTICE_FIRING && notice_severity(n) == SEVERITY_CRITICAL;
    bool quiet = n->status == NOTICE_RESOLVED || notice_severity(n) < SEVERITY_WARNING;
    const struct desktop_note note = {.title = title.at ? title.at : "",
                                      .body = body.at ? body.at : "",
                                      .link = n->link,
                                      .gpu_index = n->gpu_index,
                                      .urgency = critical ? 2
                                                 : quiet  ? 0
                                                          : 1};
    int rc = t->desktop ? 0 : desktop_open(env, &t->desktop, &err);
    if (rc == 0)
        rc = desktop_show(t->desktop, &note, &err);
    if (rc < 0) {
        desktop_close(t->desktop); /* the session has ended or restarted: reconnect */
        t->desktop = NULL;
    }
    a->result = rc == 0 ? OUTBOX_SENT : OUTBOX_FAILED;
    str_copy(a->error, sizeof a->error, str_from(rc < 0 ? err.text : ""));
}

/* Memory may be available later; a broken template stays broken. */
static void not_written(const struct error *why, struct notify_attempt *ret)
{
    ret->result = why->code == -ENOMEM ? OUTBOX_FAILED : OUTBOX_REFUSED;
    str_copy(ret->error, sizeof ret->error, str_from(why->text));
}

/* Targets without a body of their own: the text comes from the template or the notices. */
static void attempt_open(const struct env *env, struct notify_target *t, const struct notice_group *group,
                         const _Atomic bool *cancel, struct notify_attempt *ret)
{
    AUTO_BUF struct buf own = BUF(NOTIFY_BODY_MAX);
    struct error err = {0};
    bool templated = t->template_text[0] != '\0';
    if (templated && template_render(t->template_text, group, &own, &err) < 0) {
        not_written(&err, ret);
        return;
    }
    const char *text = templated ? (own.at ? own.at : "") : NULL;
    if (t->type == CONFIG_NOTIFY_MQTT && t->only_connect) {
        int rc = broker_reach(env, t, cancel, &err);
        ret->result = rc == 0 ? OUTBOX_SENT : OUTBOX_FAILED;
        str_copy(ret->error, sizeof ret->error, str_from(err.text));
    } else if (t->type == CONFIG_NOTIFY_MQTT)
        broker_attempt(env, t, group, text, cancel, ret);
    else
        show_on_desktop(env, t, group, text, ret);
}

void notify_attempt(const struct env *env, struct notify_target *target, const struct notice_group *group, struct wall now,
                    const _Atomic bool *cancel, struct notify_attempt *ret)
{
    *ret = (struct notify_attempt){.result = OUTBOX_REFUSED};
    struct notify_message message = {0};
    struct notify_address address;
    struct error err = {0};
    if (target->only_connect && (target->type == CONFIG_NOTIFY_DESKTOP || target->type == CONFIG_NOTIFY_COMMAND)) {
        ret->result = OUTBOX_SENT; /* nothing to connect to */
        return;
    }
    if (target->type == CONFIG_NOTIFY_MQTT || target->type == CONFIG_NOTIFY_DESKTOP) {
        attempt_open(env, target, group, cancel, ret);
        return;
    }
    notify_target_address(target, &address);
    if (notify_message(&address, group, now, &message, &err) < 0)
        not_written(&err, ret);
    else if (target->type == CONFIG_NOTIFY_COMMAND)
        run(env, target, &message, cancel, ret);
    else if (target->type == CONFIG_NOTIFY_EMAIL)
        mail(env, target, &message, cancel, ret);
    else
        post(env, target, &message, cancel, ret);
    notify_message_done(&message);
}
