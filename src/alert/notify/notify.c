/* SPDX-License-Identifier: Apache-2.0
 * The service: owns the notifiers and passes notices to them.
 */
#include "alert/notify/notify.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alert/notify/send.h"
#include "base/cleanup.h"
#include "base/os/shared.h"

struct notifier_service {
    struct notifier_options options;
    char folder[NOTIFIER_PATH_SIZE];
    struct notifier *list[NOTIFIERS_MAX];
    size_t count;
    struct notifier *leaving[NOTIFIERS_MAX]; /* removed by a reload; their threads may still be busy */
    size_t leaving_count;
};

const char *notifier_state_name(enum notifier_state state)
{
    static const char *const names[] = {"idle", "waiting", "sending", "retrying"};
    return names[state];
}

static struct notifier *notifiers_find(const struct notifier_service *s, const char *name)
{
    for (size_t i = 0; i < s->count; i++)
        if (strcmp(notifier_name(s->list[i]), name) == 0)
            return s->list[i];
    return NULL;
}

static void notifiers_log(const struct notifier_service *s, enum log_level level, const char *message)
{
    if (s->options.say)
        s->options.say(s->options.user, level, message);
}

static int notifiers_add(struct notifier_service *s, const struct config_notify *settings, struct error *err)
{
    if (s->count == NOTIFIERS_MAX) {
        notifiers_log(s, LOG_ERROR, "too many notifiers, the last ones are left out");
        return 0;
    }
    const struct notifier_setup setup = {
        .env = s->options.env, .folder = s->folder[0] ? s->folder : NULL, .say = s->options.say, .user = s->options.user};
    struct notifier *n = notifier_new(&setup, settings, err);
    if (!n)
        return err->code;
    s->list[s->count++] = n;
    return 0;
}

/* Without this directory queues don't survive a restart, but messages are still sent. */
static void prepare_folder(struct notifier_service *s)
{
    if (!s->options.folder || s->options.config->notify_count == 0)
        return;
    char message[NOTIFIER_PATH_SIZE + 128];
    struct error err = {0};
    if (shared_dir_make(s->options.folder, 0700, &err) < 0) {
        snprintf(message, sizeof message, "queued notifications will not survive a restart: %s", err.text);
        notifiers_log(s, LOG_WARNING, message);
        return;
    }
    str_copy(s->folder, sizeof s->folder, str_from(s->options.folder));
}

struct notifier_service *notifier_service_new(const struct notifier_options *options, struct error *err)
{
    struct notifier_service *s = calloc(1, sizeof *s);
    if (!s) {
        error_set(err, -ENOMEM, "out of memory");
        return NULL;
    }
    s->options = *options;
    prepare_folder(s);
    int rc = 0;
    for (size_t i = 0; i < options->config->notify_count && rc == 0; i++)
        rc = notifiers_add(s, &options->config->notify[i], err);
    s->options.config = NULL;
    s->options.folder = NULL;
    if (rc == 0)
        return s;
    notifier_service_free(s);
    return NULL;
}

void notifier_service_free(struct notifier_service *s)
{
    if (!s)
        return;
    /* Signal all of them before joining: together they take only as long as the slowest. */
    for (size_t i = 0; i < s->count; i++)
        notifier_stop(s->list[i]);
    for (size_t i = 0; i < s->count; i++)
        notifier_free(s->list[i]);
    for (size_t i = 0; i < s->leaving_count; i++)
        notifier_free(s->leaving[i]);
    free(s);
}

void notifier_service_put(struct notifier_service *s, const struct alert_notice *notice)
{
    for (size_t i = 0; i < notice->notifier_count; i++) {
        struct notifier *n = notifiers_find(s, notice->notifiers[i]);
        bool twice = false;
        for (size_t k = 0; k < i; k++)
            twice |= strcmp(notice->notifiers[i], notice->notifiers[k]) == 0;
        if (n && !twice)
            notifier_put(n, notice);
    }
}

bool notifier_service_wants_view(const struct notifier_service *s, struct mono now)
{
    for (size_t i = 0; i < s->count; i++)
        if (notifier_wants_view(s->list[i], now))
            return true;
    return false;
}

void notifier_service_show(struct notifier_service *s, const struct home_view *view, struct mono now)
{
    for (size_t i = 0; i < s->count; i++)
        if (notifier_wants_view(s->list[i], now))
            notifier_show(s->list[i], view, now);
}

void notifier_service_roll_begin(struct notifier_service *s)
{
    for (size_t i = 0; i < s->count; i++)
        notifier_roll(s->list[i], true);
}

void notifier_service_roll_end(struct notifier_service *s)
{
    for (size_t i = 0; i < s->count; i++)
        notifier_roll(s->list[i], false);
}

static bool still_there(const struct config *config, const char *name)
{
    for (size_t i = 0; i < config->notify_count; i++)
        if (strcmp(config->notify[i].entry.name, name) == 0)
            return true;
    return false;
}

/* Removed notifiers end in their own time: a reload must not wait for a target that hangs. */
static void dismiss(struct notifier_service *s, const struct config *config)
{
    size_t kept = 0;
    for (size_t i = 0; i < s->count; i++) {
        struct notifier *n = s->list[i];
        if (still_there(config, notifier_name(n))) {
            s->list[kept++] = n;
            continue;
        }
        notifier_stop(n);
        if (s->leaving_count == NOTIFIERS_MAX) {
            notifier_free(s->leaving[0]); /* stopped long ago */
            memmove(s->leaving, s->leaving + 1, --s->leaving_count * sizeof s->leaving[0]);
        }
        s->leaving[s->leaving_count++] = n;
    }
    s->count = kept;
}

int notifier_service_reload(struct notifier_service *s, const struct config *config, struct error *err)
{
    int rc = 0;
    dismiss(s, config);
    for (size_t i = 0; i < config->notify_count; i++) {
        struct notifier *n = notifiers_find(s, config->notify[i].entry.name);
        int one = n ? notifier_change(n, &config->notify[i], err) : notifiers_add(s, &config->notify[i], err);
        rc = rc ? rc : one;
    }
    return rc;
}

size_t notifier_service_stats(struct notifier_service *s, struct notifier_stats *stats, size_t max)
{
    for (size_t i = 0; i < MIN_OF(s->count, max); i++)
        notifier_get_stats(s->list[i], &stats[i]);
    return s->count;
}

static void try_once(const struct env *env, const struct config_notify *notifier, const struct alert_notice *notice,
                     bool only_connect, struct notifier_result *ret)
{
    static const _Atomic bool never = false;
    *ret = (struct notifier_result){0};
    struct notify_target *target = notify_target_new(notifier);
    if (!target) {
        snprintf(ret->error, sizeof ret->error, "out of memory");
        return;
    }
    target->visit = true;
    target->only_connect = only_connect;
    const struct notice_group group = {(const struct alert_notice *const[]){notice}, 1};
    struct notify_attempt attempt;
    struct mono before = clock_mono(env->clock);
    notify_attempt(env, target, &group, clock_wall(env->clock), &never, &attempt);
    ret->took_ms = mono_since_ms(clock_mono(env->clock), before);
    ret->fine = attempt.result == OUTBOX_SENT;
    ret->status = attempt.status;
    str_copy(ret->target, sizeof ret->target, str_from(target->shown));
    str_copy(ret->answer, sizeof ret->answer, str_from(attempt.answer));
    str_copy(ret->error, sizeof ret->error, str_from(attempt.error));
    notify_target_free(target);
}

void notifier_try(const struct env *env, const struct config_notify *notifier, const struct alert_notice *notice,
                  struct notifier_result *ret)
{
    try_once(env, notifier, notice, false, ret);
}

void notifier_reach(const struct env *env, const struct config_notify *notifier, const struct alert_notice *notice,
                    struct notifier_result *ret)
{
    try_once(env, notifier, notice, true, ret);
}

void notifier_describe(const struct config_notify *notifier, struct notifier_stats *ret)
{
    *ret = (struct notifier_stats){.type = notify_type_name((enum config_notify_type)notifier->type)};
    struct notify_target *target = notify_target_new(notifier);
    str_copy(ret->name, sizeof ret->name, str_from(notifier->entry.name));
    str_copy(ret->target, sizeof ret->target, str_from(target ? target->shown : ""));
    str_copy(ret->quiet, sizeof ret->quiet, str_from(target ? target->quiet_text : ""));
    str_copy(ret->digest, sizeof ret->digest, str_from(target ? target->digest_text : ""));
    notify_target_free(target);
}

/* Settings that a type requires. */
static int check_account(const struct notify_target *t, size_t recipients, struct error *err)
{
    static const struct {
        enum config_notify_type type;
        const char *token, *to; /* NULL: not needed */
        size_t max;
    } needs[] = {
        {CONFIG_NOTIFY_EMAIL, NULL, "an email address, like to = \"me@example.org\"", NOTIFY_RECIPIENTS_MAX},
        {CONFIG_NOTIFY_TELEGRAM, "the token that @BotFather gave for the bot", "the ID of a chat, like to = \"123456789\"", 1},
        {CONFIG_NOTIFY_GOTIFY, "the token of a Gotify application", NULL, 0},
        {CONFIG_NOTIFY_PUSHOVER, "the token of a Pushover application", "a Pushover user or group key", 1},
        {CONFIG_NOTIFY_MATRIX, "the access token of a Matrix user", "the ID of a room, like to = \"!abc:example.org\"", 1},
    };
    const char *scheme = t->type == CONFIG_NOTIFY_EMAIL ? "smtp" : t->type == CONFIG_NOTIFY_MQTT ? "mqtt" : "http";
    size_t len = strlen(scheme);
    const char *rest = strncmp(t->url, scheme, len) == 0 ? t->url + len + (t->url[len] == 's') : "";
    if (t->url[0] && strncmp(rest, "://", 3) != 0)
        return error_set(err, -EINVAL, "its url must begin with %s:// or %ss://", scheme, scheme);
    if (t->type == CONFIG_NOTIFY_MQTT && (!t->topic[0] || strpbrk(t->topic, "+#") || strpbrk(t->discovery, "+#")))
        return error_set(err, -EINVAL, "topics must not be empty, nor hold + or #");
    for (size_t i = 0; i < ARRAY_LEN(needs); i++) {
        if (needs[i].type != t->type)
            continue;
        if (needs[i].token && !t->token[0])
            return error_set(err, -EINVAL, "token is missing: %s", needs[i].token);
        if (needs[i].to && (!recipients || !t->to[0][0]))
            return error_set(err, -EINVAL, "to is missing: %s", needs[i].to);
        if (recipients > needs[i].max)
            return error_set(err, -EINVAL, "it has %zu recipients in `to`; %s takes %zu", recipients, notify_type_name(t->type),
                             needs[i].max);
    }
    if (t->type == CONFIG_NOTIFY_MATRIX && t->to[0][0] != '!')
        return error_set(err, -EINVAL,
                         "`to` is not the ID of a Matrix room, which begins with ! (Element: Room settings, Advanced)");
    for (size_t i = 0; t->type == CONFIG_NOTIFY_EMAIL && t->to[i]; i++)
        if (!strchr(t->to[i], '@') || strpbrk(t->to[i], "\r\n<> "))
            return error_set(err, -EINVAL, "recipient %zu in `to` is not an email address", i + 1);
    if (strpbrk(t->from, "\r\n") || strpbrk(t->token, "\r\n /"))
        return error_set(err, -EINVAL, "%s holds a character that cannot be sent", strpbrk(t->from, "\r\n") ? "from" : "token");
    return 0;
}

int notifier_check(const struct config_notify *notifier, struct error *err)
{
    struct notify_target *target = notify_target_new(notifier);
    if (!target)
        return error_set(err, -ENOMEM, "out of memory");
    struct quiet hours;
    int rc = check_account(target, notifier->to.count, err);
    if (rc == 0)
        rc = quiet_parse(&notifier->quiet, false, &hours, err);
    if (rc == 0)
        rc = quiet_parse(&notifier->digest, true, &hours, err);
    if (rc == 0)
        rc = template_check(target->template_text, err);
    struct alert_notice example = {.gpu_index = -1};
    const struct notice_group group = {(const struct alert_notice *const[]){&example}, 1};
    struct notify_message message = {0};
    struct notify_address address;
    notify_target_address(target, &address);
    address.template_text = "";
    if (rc == 0)
        rc = notify_message(&address, &group, (struct wall){1}, &message, err);
    notify_message_done(&message);
    for (size_t i = 0; rc == 0 && i < notifier->headers.count; i++)
        if (strpbrk(notifier->headers.pairs[i].key, "\r\n: ") || strpbrk(notifier->headers.pairs[i].value, "\r\n"))
            rc = error_set(err, -EINVAL, "'%s' cannot be a header", notifier->headers.pairs[i].key);
    notify_target_free(target);
    return rc;
}
