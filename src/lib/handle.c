/* SPDX-License-Identifier: Apache-2.0
 * Opens and closes handles. The library is silent: no log, no stderr, no signal handlers.
 */
#include "lib/handle.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "ask/settings.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "base/os/library.h"

static _Thread_local struct error open_error; /* for errors without a handle */
static pthread_mutex_t open_lock = PTHREAD_MUTEX_INITIALIZER;
static struct whirr *open_handles;

const char *whirr_version(void)
{
    return WHIRR_VERSION;
}

/* ---- open handles ---- */

/* The link that points to the handle, or NULL. Must not dereference the handle: it may be freed already. */
static struct whirr **find_link(const struct whirr *w)
{
    struct whirr **at = &open_handles;
    while (*at && *at != w)
        at = &(*at)->next;
    return w && *at ? at : NULL;
}

static bool is_open(const struct whirr *w)
{
    pthread_mutex_lock(&open_lock);
    bool found = find_link(w) != NULL;
    pthread_mutex_unlock(&open_lock);
    return found;
}

static void add_open(struct whirr *w)
{
    pthread_mutex_lock(&open_lock);
    w->next = open_handles;
    open_handles = w;
    pthread_mutex_unlock(&open_lock);
}

/* True if it was open: if two threads close it, only one of them frees it. */
static bool remove_open(struct whirr *w)
{
    pthread_mutex_lock(&open_lock);
    struct whirr **at = find_link(w);
    if (at)
        *at = w->next;
    pthread_mutex_unlock(&open_lock);
    return at != NULL;
}

int handle_use(struct whirr *w, bool given)
{
    struct error err = {0};
    if (!is_open(w))
        return error_set(&open_error, -EBADF, w ? "the handle is closed" : "the handle is NULL");
    if (given)
        return 0;
    error_set(&err, -EINVAL, "an argument is NULL");
    return handle_fail(w, &err);
}

int handle_fail(struct whirr *w, const struct error *err)
{
    w->error = *err;
    if (!w->error.code)
        w->error.code = -EIO;
    return w->error.code;
}

int handle_text(struct whirr *w, struct buf *text, char **ret)
{
    buf_char(text, '\0');
    char *copy = text->failed ? NULL : malloc(text->len);
    if (!copy) {
        struct error err = {0};
        error_set(&err, -ENOMEM, "out of memory");
        return w ? handle_fail(w, &err) : err.code;
    }
    memcpy(copy, text->at, text->len);
    *ret = copy;
    return 0;
}

/* Copies an option into the handle; "" if it is not given. */
static int copy_option(const char *name, const char *value, char *copy, size_t size, struct error *err)
{
    if (value && strlen(value) >= size)
        return error_set(err, -EINVAL, "the %s is too long", name);
    str_copy(copy, size, str_from(value ? value : ""));
    return 0;
}

/* Copies only as much as the caller's version of the struct has. */
static int take_options(struct whirr *w, const struct whirr_options *given, struct error *err)
{
    struct whirr_options o = {0};
    if (given && given->size < offsetof(struct whirr_options, source))
        return error_set(err, -EINVAL, "whirr_options.size is not set");
    if (given)
        memcpy(&o, given, MIN_OF(given->size, sizeof o));
    int rc = copy_option("source", o.source, w->source, sizeof w->source, err);
    if (!rc)
        rc = copy_option("sysroot", o.sysroot, w->sysroot, sizeof w->sysroot, err);
    if (!rc)
        rc = copy_option("socket", o.socket, w->socket, sizeof w->socket, err);
    w->cli.ask = (struct ask_options){
        .sources = {w->source}, .source_count = o.source != NULL, .socket = o.socket ? w->socket : NULL, .direct = o.direct != 0};
    return rc;
}

static int open_all(struct whirr *w, const struct whirr_options *options, struct error *err)
{
    int rc = take_options(w, options, err);
    if (rc)
        return rc;
    env_init_system(&w->cli.env);
    w->cli.env.sysroot = w->sysroot;
    w->cli.name = "libwhirr";
    /* A mistake in the configuration costs only that setting: it must not stop the program that links this library. */
    AUTO_FREE struct config_problems *problems = calloc(1, sizeof *problems); /* large */
    rc = problems ? settings_quietly(&w->cli, problems) : -ENOMEM;
    if (rc)
        return error_set(err, rc, "%s", problems && problems->count ? problems->list[0].text : "the configuration cannot be read");
    w->session = session_open(&w->cli, err);
    return w->session ? 0 : err->code ? err->code : -EIO;
}

static void discard(struct whirr *w)
{
    bool abandoned = session_close(w->session);
    machine_free(w->machine);
    if (w->timer >= 0)
        close(w->timer);
    if (abandoned) { /* a thread hangs in a driver: keep the memory it may use, and the code it returns to */
        library_stay((const void *)whirr_close);
        return;
    }
    config_free(w->cli.settings);
    free(w);
}

int whirr_open(const struct whirr_options *options, struct whirr **ret)
{
    open_error = (struct error){0};
    if (!ret)
        return error_set(&open_error, -EINVAL, "an argument is NULL");
    struct whirr *w = calloc(1, sizeof *w);
    if (!w)
        return error_set(&open_error, -ENOMEM, "out of memory");
    w->timer = -1;
    log_set_level(LOG_NONE);
    int rc = open_all(w, options, &open_error);
    if (rc) {
        discard(w);
        return rc;
    }
    add_open(w);
    *ret = w;
    return 0;
}

void whirr_close(struct whirr *w)
{
    if (!is_open(w)) /* keeps the previous error */
        return;
    whirr_room_done(w);
    if (remove_open(w))
        discard(w);
}

const char *whirr_error(const struct whirr *w)
{
    return is_open(w) ? w->error.text : open_error.text;
}

int whirr_asks_daemon(const struct whirr *w)
{
    int rc = handle_use((struct whirr *)w, true);
    return rc ? rc : session_asks_daemon(w->session);
}

void whirr_free(char *text)
{
    free(text);
}
