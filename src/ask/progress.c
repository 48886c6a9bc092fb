/* SPDX-License-Identifier: Apache-2.0 */
#include "ask/progress.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/os/thread.h"
#include "base/words.h"

enum { SHOWN_AFTER_MS = 2000, REDRAWN_MS = 250 };

struct progress {
    pthread_t thread;
    pthread_mutex_t lock; /* of all below */
    pthread_cond_t changed;
    bool over, drawn;
    const char *what, *part, *unit;
    int64_t permille, count;
};

static _Atomic bool stop_wanted;

static void on_signal(int number)
{
    (void)number;
    stop_wanted = true;
}

const _Atomic bool *progress_stop(void)
{
    const struct sigaction act = {.sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND};
    sigaction(SIGINT, &act, NULL);
    sigaction(SIGTERM, &act, NULL);
    sigaction(SIGHUP, &act, NULL);
    return &stop_wanted;
}

static void draw(struct progress *p, struct mono began)
{
    char passed[WORDS_SIZE];
    int64_t ms = mono_since_ms(clock_mono(&clock_system), began);
    fprintf(stderr, "\r\033[K%s%s%s", p->what, p->part ? " " : "", p->part ? p->part : "");
    if (p->permille >= 0)
        fprintf(stderr, " %lld%%", (long long)(p->permille / 10));
    if (p->unit)
        fprintf(stderr, ", %lld %s", (long long)p->count, p->unit);
    fprintf(stderr, ", %s; %s ", words_duration(ms - ms % MS_PER_S, passed), stop_wanted ? "stopping" : "Ctrl-C stops");
    fflush(stderr);
    p->drawn = true;
}

static void *redraw(void *user)
{
    struct progress *p = user;
    struct mono began = clock_mono(&clock_system), next = {began.ns + SHOWN_AFTER_MS * NS_PER_MS};
    pthread_mutex_lock(&p->lock);
    while (!p->over) {
        if (condition_wait_until(&p->changed, &p->lock, next))
            continue;
        draw(p, began);
        next.ns = clock_mono(&clock_system).ns + REDRAWN_MS * NS_PER_MS;
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

/* Signals are for the thread that works. */
static int start(struct progress *p)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int rc = pthread_create(&p->thread, NULL, redraw, p);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return rc;
}

struct progress *progress_begin(const char *what)
{
    struct progress *p = isatty(STDERR_FILENO) ? calloc(1, sizeof *p) : NULL;
    if (!p)
        return NULL;
    p->what = what;
    p->permille = -1;
    pthread_mutex_init(&p->lock, NULL);
    condition_init(&p->changed);
    if (start(p) == 0)
        return p;
    free(p);
    return NULL;
}

void progress_set(struct progress *p, const char *part, int64_t permille, int64_t count, const char *unit)
{
    if (!p)
        return;
    pthread_mutex_lock(&p->lock);
    p->part = part;
    p->permille = permille;
    p->count = count;
    p->unit = unit;
    pthread_mutex_unlock(&p->lock);
}

void progress_end(struct progress *p)
{
    if (!p)
        return;
    pthread_mutex_lock(&p->lock);
    p->over = true;
    pthread_cond_signal(&p->changed);
    pthread_mutex_unlock(&p->lock);
    pthread_join(p->thread, NULL);
    if (p->drawn)
        fputs("\r\033[K", stderr);
    pthread_cond_destroy(&p->changed);
    pthread_mutex_destroy(&p->lock);
    free(p);
}
