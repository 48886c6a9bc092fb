/* SPDX-License-Identifier: Apache-2.0
 * Notifications over the session bus, and clicks on them.
 */
#include "alert/notify/desktop.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "net/session_bus.h"

#define SERVICE "org.freedesktop.Notifications"
#define PLACE "/org/freedesktop/Notifications"
#define CALL_TIMEOUT_US 5000000
enum { OPEN_MAX = 16 /* the oldest is replaced */, LINK_SIZE = 512, ANSWER_MAX = 8192, WHY_TIMEOUT_MS = 10000 };

struct shown {
    uint32_t id; /* 0: free */
    int gpu_index;
    char link[LINK_SIZE];
};

struct desktop {
    const struct env *env;
    struct session_bus bus;
    void *slot;
    bool actions, markup;
    struct shown open[OPEN_MAX];
    size_t next;
};

/* Handles a click on an action. */
static int on_action(void *message, void *user, struct bus_error *ignored);

/* Servers without actions get plain notifications; servers without markup would show our escapes. */
static void ask_capabilities(struct desktop *d)
{
    void *reply = NULL;
    struct bus_error error = {0};
    const char *one = NULL;
    if (d->bus.call(d->bus.connection, SERVICE, PLACE, SERVICE, "GetCapabilities", &error, &reply, "") >= 0 &&
        d->bus.enter(reply, 'a', "s") > 0)
        while (d->bus.read(reply, "s", &one) > 0) {
            d->actions |= strcmp(one, "actions") == 0;
            d->markup |= strcmp(one, "body-markup") == 0;
        }
    d->bus.unref(reply);
    d->bus.error_free(&error);
}

int desktop_open(const struct env *env, struct desktop **ret, struct error *err)
{
    struct desktop *d = calloc(1, sizeof *d);
    if (!d || !session_bus_load(&d->bus, env)) {
        free(d);
        return error_set(err, -ENOSYS, "desktop notifications need libsystemd (Debian: libsystemd0)");
    }
    d->env = env;
    if (!session_bus_connect(&d->bus, CALL_TIMEOUT_US)) {
        free(d);
        return error_set(err, -ENOMEDIUM,
                         "no desktop session can be reached from here: run whirr as a service of your user "
                         "(systemctl --user enable --now whirr)");
    }
    ask_capabilities(d);
    if (d->bus.match_signal(d->bus.connection, &d->slot, NULL, PLACE, SERVICE, "ActionInvoked", on_action, d) < 0)
        d->actions = false;
    *ret = d;
    return 0;
}

void desktop_close(struct desktop *d)
{
    if (!d)
        return;
    d->bus.slot_unref(d->slot);
    session_bus_disconnect(&d->bus);
    free(d);
}

static int notify(struct desktop *d, const struct desktop_note *note, uint32_t replaces, bool why, uint32_t *id, struct error *err)
{
    AUTO_BUF struct buf body = BUF(ANSWER_MAX * 5);
    struct bus_error error = {0};
    void *reply = NULL;
    (d->markup ? buf_markup : buf_str)(&body, str_from(note->body));
    const char *actions[4] = {"", "", "", ""};
    unsigned count = 0;
    if (d->actions && why) {
        actions[count++] = "why";
        actions[count++] = "Why?";
    }
    if (d->actions && note->link[0]) {
        actions[count++] = "open";
        actions[count++] = "Dashboard";
    }
#define NOTIFY(types, ...)                                                                                                         \
    d->bus.call(d->bus.connection, SERVICE, PLACE, SERVICE, "Notify", &error, &reply, types, "whirr", replaces, "dialog-warning",  \
                note->title, body.at ? body.at : "", __VA_ARGS__, 2, "urgency", "y", note->urgency, "desktop-entry", "s", "whirr", \
                -1)
    int rc = count == 0   ? NOTIFY("susssasa{sv}i", 0)
             : count == 2 ? NOTIFY("susssasa{sv}i", 2, actions[0], actions[1])
                          : NOTIFY("susssasa{sv}i", 4, actions[0], actions[1], actions[2], actions[3]);
#undef NOTIFY
    if (rc >= 0)
        d->bus.read(reply, "u", id);
    else if (error.name && strcmp(error.name, "org.freedesktop.DBus.Error.ServiceUnknown") == 0)
        error_set(err, -ENOENT, "the desktop shows no notifications: no notification server is running in this session");
    else
        error_set(err, rc == -ETIMEDOUT ? -ETIMEDOUT : -EPIPE, "the desktop's bus: %s",
                  error.message ? error.message : strerror(-rc));
    d->bus.unref(reply);
    d->bus.error_free(&error);
    return rc < 0 ? err->code : 0;
}

int desktop_show(struct desktop *d, const struct desktop_note *note, struct error *err)
{
    uint32_t id = 0;
    int rc = notify(d, note, 0, true, &id, err);
    if (rc == 0) {
        struct shown *s = &d->open[d->next++ % OPEN_MAX];
        *s = (struct shown){.id = id, .gpu_index = note->gpu_index};
        str_copy(s->link, sizeof s->link, str_from(note->link));
    }
    return rc;
}

/* Runs the `why` command, so that the answer is the same as everywhere else. */
static void show_why(struct desktop *d, const struct shown *s)
{
    AUTO_BUF struct buf out = BUF(ANSWER_MAX), diag = BUF(ANSWER_MAX);
    char gpu[16], title[64] = "whirr why";
    snprintf(gpu, sizeof gpu, "%d", s->gpu_index);
    const char *argv[] = {d->env->self_program, "why", s->gpu_index < 0 ? NULL : "--gpu", gpu, NULL};
    struct error err = {0};
    const struct launch launch = {.argv = argv, .timeout_ms = WHY_TIMEOUT_MS, .out = &out, .err = &diag};
    int status = d->env->launch(d->env, &launch, &err);
    if (s->gpu_index >= 0)
        snprintf(title, sizeof title, "whirr why --gpu %d", s->gpu_index);
    const char *text = out.len ? out.at : diag.len ? diag.at : status < 0 ? err.text : "There is no answer.";
    const struct desktop_note note = {.title = title, .body = text, .link = s->link, .gpu_index = s->gpu_index, .urgency = 1};
    uint32_t id = 0;
    notify(d, &note, s->id, false, &id, &err);
}

static void open_link(const struct desktop *d, const char *link)
{
    const char *argv[] = {"xdg-open", link, NULL};
    struct error err = {0};
    const struct launch launch = {.argv = argv, .timeout_ms = WHY_TIMEOUT_MS};
    d->env->launch(d->env, &launch, &err);
}

static int on_action(void *message, void *user, struct bus_error *ignored)
{
    (void)ignored;
    struct desktop *d = user;
    uint32_t id = 0;
    const char *action = NULL;
    if (d->bus.read(message, "us", &id, &action) <= 0 || !id)
        return 0;
    for (size_t i = 0; i < OPEN_MAX; i++) {
        struct shown s = d->open[i];
        if (s.id == id && strcmp(action, "why") == 0)
            show_why(d, &s);
        else if (s.id == id && strcmp(action, "open") == 0 && s.link[0])
            open_link(d, s.link);
    }
    return 0;
}

int desktop_fd(struct desktop *d)
{
    return d->bus.get_fd(d->bus.connection);
}

void desktop_listen(struct desktop *d)
{
    while (d->bus.process(d->bus.connection, NULL) > 0)
        continue;
}
