/* SPDX-License-Identifier: Apache-2.0
 * Writes the latest alert state to its file.
 */
#include "daemon/alert_file.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/keep.h"
#include "base/log.h"
#include "base/mailbox.h"

struct alert_file {
    char *path;
    struct mailbox *texts; /* of char *: holds one at most, and drops the older one */
    pthread_t thread;
    bool running;
};

static void *write_texts(void *arg)
{
    struct alert_file *f = arg;
    bool told = false;
    for (char *text; (text = mailbox_take(f->texts, -1));) {
        struct error err = {0};
        int result = keep_write(f->path, str_from(text), &err);
        if (result && !told)
            log_error("cannot save the state of alerts; it will not survive a restart", LOG_TEXT("error", err.text));
        told = result != 0;
        free(text);
    }
    return NULL;
}

struct alert_file *alert_file_open(const char *path)
{
    struct alert_file *f = calloc(1, sizeof *f);
    if (!f)
        return NULL;
    f->path = strdup(path);
    f->texts = mailbox_new(1, free);
    f->running = f->path && f->texts && pthread_create(&f->thread, NULL, write_texts, f) == 0;
    if (f->running)
        return f;
    alert_file_close(f);
    return NULL;
}

int alert_file_read(struct alert_file *f, struct buf *text, struct error *err)
{
    return keep_read(f->path, text, err);
}

void alert_file_set_aside(struct alert_file *f)
{
    struct error err = {0};
    if (keep_aside(f->path, &err))
        log_warn("cannot move the damaged state of alerts away", LOG_TEXT("error", err.text));
}

void alert_file_write(struct alert_file *f, struct buf *text)
{
    char *taken = buf_take(text);
    if (taken)
        mailbox_put(f->texts, taken);
}

void alert_file_close(struct alert_file *f)
{
    if (!f)
        return;
    if (f->running) {
        mailbox_close(f->texts); /* its content is still taken */
        pthread_join(f->thread, NULL);
    }
    if (f->texts)
        mailbox_free(f->texts);
    free(f->path);
    free(f);
}
