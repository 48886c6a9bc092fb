/* SPDX-License-Identifier: Apache-2.0
 * Programs that run when alerts fire and resolve, as remedies: one at a time in order of events, in a thread of its own, by the
 * helper outside of the sandbox. Limited in time, number and queue length; every run is in the log and in the history.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alert/notify/notice.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "base/mailbox.h"
#include "base/words.h"
#include "config/config_schema.h"
#include "daemon/part.h"
#include "store/service/service.h"

enum { HOOK_QUEUE = 64, HOOK_RUNS_MAX = 100, HOUR_MS = 3600 * 1000, HOOK_SAID_MAX = 4096, HOOK_BODY_MAX = 64 << 10 };

/* A run that was decided on. Owns all of its data: the configuration may have changed by then. */
struct hook_job {
    char name[NOTICE_NOTIFIER_SIZE];
    struct alert_notice notice;
    int64_t timeout_ms;
    size_t argc;
    char **argv;
};

/* When a hook ran, as far as the rate limit needs. */
struct hook_runs {
    char name[NOTICE_NOTIFIER_SIZE];
    int64_t started_ms[HOOK_RUNS_MAX];
    size_t next;
};

struct hook_part {
    const struct part_host *host;
    const struct config *config; /* from the start or the last reload */
    struct mailbox *jobs;        /* NULL until the first hook */
    pthread_t thread;
    _Atomic bool stop;
    struct hook_runs *runs;
    size_t run_count, run_capacity;
};

static void free_job(void *item)
{
    struct hook_job *job = item;
    for (size_t i = 0; job && job->argv && i < job->argc; i++)
        free(job->argv[i]);
    if (job)
        free(job->argv);
    free(job);
}

static void drop_job(void *item)
{
    const struct hook_job *job = item;
    log_warn("a hook does not run: too many wait, or the daemon ends", LOG_TEXT("hook", job->name),
             LOG_TEXT("alert", job->notice.alert));
    free_job(item);
}

/* ---- in the thread ---- */

static void keep_record(struct hook_part *p, const struct hook_job *job, const char *result, bool good)
{
    const struct alert_notice *n = &job->notice;
    char text[768];
    struct log_field name = LOG_TEXT("hook", job->name), alert = LOG_TEXT("alert", n->alert), gpu = LOG_INT("gpu", n->gpu_index),
                     status = LOG_TEXT("status", notice_status_name(n->status));
    snprintf(text, sizeof text, "hook %s: %s: %.500s", job->name, job->argc ? job->argv[0] : "", result);
    if (good)
        log_info(text, name, alert, gpu, status);
    else
        log_error(text, name, alert, gpu, status);
    if (!p->host->store)
        return;
    AUTO_BUF struct buf data = BUF(HOOK_BODY_MAX);
    struct json_writer j = JSON_WRITER(&data);
    jw_object(&j);
    jw_key_text(&j, "hook", job->name);
    jw_key_text(&j, "program", job->argc ? job->argv[0] : NULL);
    jw_key_text(&j, "alert", n->alert);
    jw_key_text(&j, "status", notice_status_name(n->status));
    jw_key_text(&j, "result", result);
    jw_end(&j);
    store_service_event(p->host->store, &(struct store_event){.at = clock_wall(&clock_system),
                                                              .gpu_index = n->gpu_index,
                                                              .kind = "hook",
                                                              .severity = good ? "info" : "warning",
                                                              .text = text,
                                                              .data = data.failed ? NULL : buf_view(&data).at});
}

static void run_job(struct hook_part *p, const struct hook_job *job)
{
    AUTO_BUF struct buf body = BUF(HOOK_BODY_MAX), out = BUF(HOOK_SAID_MAX), diag = BUF(HOOK_SAID_MAX);
    struct error err = {0};
    char why[WHY_SIZE], result[512], said[256], took[WORDS_SIZE];
    if (!config_trusts(p->host->env, job->argv[0], why)) {
        snprintf(result, sizeof result, "not run: %.480s", why);
        keep_record(p, job, result, false);
        return;
    }
    notice_json(JSON_LINE(&body), &job->notice);
    struct mono begin = clock_mono(&clock_system);
    const struct launch launch = {.argv = (const char *const *)job->argv,
                                  .timeout_ms = job->timeout_ms,
                                  .out = &out,
                                  .err = &diag,
                                  .in = buf_view(&body),
                                  .cancel = &p->stop};
    int status = p->host->env->launch(p->host->env, &launch, &err);
    words_duration(mono_since_ms(clock_mono(&clock_system), begin), took);
    str_copy_clean(said, sizeof said, str_trim(buf_view(diag.len ? &diag : &out)));
    if (status < 0)
        snprintf(result, sizeof result, "%.480s", err.text);
    else
        snprintf(result, sizeof result, "ended with %d after %s%s%s", status, took, said[0] ? ": " : "", said);
    keep_record(p, job, result, status == 0);
}

static void *hooks_run(void *user)
{
    struct hook_part *p = user;
    struct hook_job *job;
    while (!p->stop && (job = mailbox_take(p->jobs, -1))) {
        run_job(p, job);
        free_job(job);
    }
    return NULL;
}

/* ---- in the loop ---- */

static bool waits_for(const struct config_hook *h, const struct alert_notice *n)
{
    enum severity least;
    for (size_t i = 0; i < h->on.count; i++)
        if (strcmp(h->on.items[i], n->alert) == 0 || (severity_from_text(h->on.items[i], &least) && notice_severity(n) >= least))
            return n->status == NOTICE_FIRING || h->resolved;
    return false;
}

/* Whether the rate limit allows one more run; if so, counts it. */
static bool may_run(struct hook_part *p, const struct config_hook *h)
{
    int64_t now_ms = clock_mono(&clock_system).ns / NS_PER_MS;
    struct hook_runs *r = NULL;
    for (size_t i = 0; i < p->run_count && !r; i++)
        if (strcmp(p->runs[i].name, h->entry.name) == 0)
            r = &p->runs[i];
    if (!r) {
        if (!ROOM_FOR_ONE(p->runs, p->run_count, p->run_capacity, 4))
            return false;
        r = &p->runs[p->run_count++];
        *r = (struct hook_runs){0};
        str_copy(r->name, sizeof r->name, str_from(h->entry.name));
    }
    int64_t recent = 0;
    for (size_t i = 0; i < HOOK_RUNS_MAX; i++)
        recent += r->started_ms[i] && now_ms - r->started_ms[i] < HOUR_MS;
    if (recent >= h->max_per_hour)
        return false;
    r->started_ms[r->next] = now_ms;
    r->next = (r->next + 1) % HOOK_RUNS_MAX;
    return true;
}

static struct hook_job *new_job(const struct config_hook *h, const struct alert_notice *notice)
{
    struct hook_job *job = calloc(1, sizeof *job);
    char **argv = job ? calloc(h->run.count + 1, sizeof *argv) : NULL;
    if (!argv) {
        free(job);
        return NULL;
    }
    *job = (struct hook_job){.notice = *notice, .timeout_ms = h->timeout_ms, .argv = argv};
    str_copy(job->name, sizeof job->name, str_from(h->entry.name));
    for (; job->argc < h->run.count; job->argc++)
        if (!(argv[job->argc] = strdup(h->run.items[job->argc]))) {
            free_job(job);
            return NULL;
        }
    return job;
}

static bool hooks_begin(struct hook_part *p)
{
    if (p->jobs)
        return true;
    p->jobs = mailbox_new(HOOK_QUEUE, drop_job);
    if (p->jobs && pthread_create(&p->thread, NULL, hooks_run, p) == 0)
        return true;
    mailbox_free(p->jobs);
    p->jobs = NULL;
    return false;
}

void hook_part_tell(struct hook_part *p, const struct alert_notice *notice)
{
    for (size_t i = 0; p && i < p->config->hook_count; i++) {
        const struct config_hook *h = &p->config->hook[i];
        if (!waits_for(h, notice))
            continue;
        struct log_field name = LOG_TEXT("hook", h->entry.name), alert = LOG_TEXT("alert", notice->alert),
                         status = LOG_TEXT("status", notice_status_name(notice->status));
        if (h->dry_run) {
            log_info("dry run: this hook would run", name, alert, status);
            continue;
        }
        if (!may_run(p, h)) {
            log_error("a hook does not run: it ran max_per_hour times within an hour", name, alert, status);
            continue;
        }
        struct hook_job *job = hooks_begin(p) ? new_job(h, notice) : NULL;
        if (job)
            mailbox_put(p->jobs, job);
        else
            log_error("a hook does not run: out of memory or threads", name, alert, status);
    }
}

static void *open_hooks(const struct part_host *host, struct error *err)
{
    (void)err;
    struct hook_part *p = calloc(1, sizeof *p);
    if (p)
        *p = (struct hook_part){.host = host, .config = host->config};
    return p;
}

static void hook_part_reload(void *part, const struct config *config)
{
    ((struct hook_part *)part)->config = config;
}

/* Kills a running hook, and drops those that wait. */
static void close_hooks(void *part)
{
    struct hook_part *p = part;
    if (p && p->jobs) {
        p->stop = true;
        mailbox_close(p->jobs);
        pthread_join(p->thread, NULL);
        mailbox_free(p->jobs);
    }
    if (p)
        free(p->runs);
    free(p);
}

const struct part_ops hook_part_ops = {.name = "hook", .open = open_hooks, .reload = hook_part_reload, .close = close_hooks};
