/* SPDX-License-Identifier: Apache-2.0
 * Brings what the kernel log tells to the cards that it is about.
 */
#include "daemon/health_watch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/keep.h"
#include "host/kernel_log.h"
#include "insight/detect/driver_fault.h"
#include "insight/detect/xid.h"
#include "insight/judge/health_file.h"
#include "insight/judge/health_judge.h"
#include "insight/judge/judge.h"

enum { WAITING_MAX = 256, LINES_MAX = 200000 };

/* What the log told of a card that has not been seen yet, or is lost. */
struct waiting {
    bool xid; /* else a fault of driver_fault.def */
    char pci_address[GPU_PCI_SIZE];
    int64_t code;
    struct wall at;
};

struct health_watch {
    const struct env *env;
    struct health_history *history;
    struct engine *engine;  /* whose judge hears of the same faults; NULL: a single look */
    struct kernel_log *log; /* opened with the first card that is real */
    bool skipped;           /* all cards are simulated */
    struct health *latest;
    struct wall taken_at, watched_since;
    char boot[HEALTH_BOOT_SIZE];
    struct health_log_mark seen; /* of the kernel log, by a daemon before this one */
    struct health_log_mark read; /* by this one */
    struct waiting waiting[WAITING_MAX];
    size_t waiting_count;
};

struct health_watch *health_watch_new(const struct env *env)
{
    struct health_watch *w = calloc(1, sizeof *w);
    if (!w)
        return NULL;
    w->env = env;
    w->history = health_history_new();
    char text[64];
    if (file_read_head(env, "/proc/sys/kernel/random/boot_id", text, sizeof text) > 0)
        str_copy(w->boot, sizeof w->boot, str_trim(str_from(text)));
    if (w->history)
        return w;
    health_watch_free(w);
    return NULL;
}

void health_watch_free(struct health_watch *w)
{
    if (!w)
        return;
    kernel_log_close(w->log);
    health_free(w->latest);
    health_history_free(w->history);
    free(w);
}

static void remember(struct health_watch *w, struct waiting what)
{
    if (w->waiting_count == WAITING_MAX) {
        memmove(&w->waiting[0], &w->waiting[1], (WAITING_MAX - 1) * sizeof w->waiting[0]);
        w->waiting_count--;
    }
    w->waiting[w->waiting_count++] = what;
}

static bool understand(const struct kernel_line *line, struct waiting *ret)
{
    struct xid_line xid;
    struct driver_fault_line fault;
    *ret = (struct waiting){.at = line->at};
    ret->xid = xid_parse(line->text, &xid);
    if (!ret->xid && !driver_fault_parse(line->text, &fault))
        return false;
    ret->code = ret->xid ? xid.code : fault.code;
    str_copy(ret->pci_address, sizeof ret->pci_address, str_from(ret->xid ? xid.pci_address : fault.pci_address));
    return true;
}

static void read_log(struct health_watch *w)
{
    struct kernel_line line;
    for (int i = 0; i < LINES_MAX && kernel_log_next(w->log, &line); i++) {
        struct waiting what;
        if (line.boot)
            w->waiting_count = 0; /* all cards were reset by it */
        bool seen = line.us >= 0 ? line.us <= w->seen.us : line.at.ms <= w->seen.at.ms;
        if (seen || !understand(&line, &what))
            continue;
        w->read = (struct health_log_mark){MAX_OF(line.us, w->read.us), line.at};
        remember(w, what);
    }
}

static bool note(struct health_history *h, const struct waiting *x)
{
    return x->xid ? health_note_xid(h, x->pci_address, x->code, x->at)
                  : health_note_driver_fault(h, x->pci_address, x->code, x->at);
}

/* The judge has judged the snapshot already, so it knows every card that this one does. */
static void tell_judge(struct health_watch *w)
{
    if (!w->engine || !w->waiting_count)
        return;
    struct health_history *h = judge_health(engine_lock_judge(w->engine));
    for (size_t i = 0; i < w->waiting_count; i++)
        note(h, &w->waiting[i]);
    engine_unlock_judge(w->engine);
}

/* Those whose card is known go there; the others wait for theirs. */
static void deliver(struct health_watch *w)
{
    size_t kept = 0;
    for (size_t i = 0; i < w->waiting_count; i++) {
        const struct waiting *x = &w->waiting[i];
        if (!note(w->history, x))
            w->waiting[kept++] = *x;
    }
    w->waiting_count = kept;
}

/* This machine's log says nothing about cards that were made up or recorded elsewhere. A recording keeps the name of the source
 * that read the card, so the sources in use tell; without a card it is them alone. */
static bool all_made_up(const struct snapshot *s)
{
    size_t live = 0;
    for (size_t i = 0; i < s->source_count; i++)
        live += strcmp(s->sources[i].name, "replay") != 0 && strcmp(s->sources[i].name, "sim") != 0;
    if (s->source_count && !live)
        return true;
    for (size_t i = 0; i < s->gpu_count; i++)
        if (!s->gpus[i].simulated)
            return false;
    return s->gpu_count > 0;
}

const struct health *health_watch_take(struct health_watch *w, const struct snapshot *s)
{
    w->skipped = all_made_up(s);
    if (!w->skipped && !w->log)
        w->log = kernel_log_open(w->env);
    if (!w->skipped && w->log) {
        health_meet(w->history, s);
        read_log(w);
        tell_judge(w);
        deliver(w);
    }
    struct health *fresh = health_judge(w->history, s);
    if (!fresh)
        return NULL;
    health_free(w->latest);
    w->latest = fresh;
    w->taken_at = s->taken_at;
    if (!w->watched_since.ms)
        w->watched_since = s->taken_at;
    return fresh;
}

const struct health *health_watch_latest(const struct health_watch *w)
{
    return w->latest;
}

void health_watch_follow(struct health_watch *w, struct engine *engine)
{
    w->engine = engine;
}

struct health_history *health_watch_history(struct health_watch *w)
{
    return w->history;
}

void health_watch_basis(const struct health_watch *w, struct health_basis *ret)
{
    *ret = (struct health_basis){.at = w->taken_at, .watched_since = w->watched_since, .log_state = "skipped", .log_message = ""};
    if (w->skipped || !w->log)
        return;
    ret->log_state = kernel_log_state_name(kernel_log_state(w->log));
    ret->log_message = kernel_log_message(w->log);
}

int health_watch_load(struct health_watch *w, const char *path, struct error *err)
{
    AUTO_BUF struct buf text = BUF(HEALTH_FILE_MAX);
    int rc = keep_read(path, &text, err);
    if (rc == 0)
        rc = health_read(w->history, buf_view(&text), w->boot, clock_wall(w->env->clock), &w->seen, err);
    if (rc == 0 && w->engine) {
        struct health_log_mark seen;
        rc = health_read(judge_health(engine_lock_judge(w->engine)), buf_view(&text), w->boot, clock_wall(w->env->clock), &seen,
                         err);
        engine_unlock_judge(w->engine);
    }
    w->read = w->seen;
    if (rc == -EINVAL || rc == -EFBIG) {
        struct error moved = {0};
        keep_aside(path, &moved);
    }
    return rc;
}

int health_watch_save(struct health_watch *w, const char *path, struct error *err)
{
    AUTO_BUF struct buf text = BUF(HEALTH_FILE_MAX);
    health_write(w->history, w->boot, w->read, clock_wall(w->env->clock), &text);
    int rc = buf_check(&text, err, "the health records of the GPUs are too large");
    return rc < 0 ? rc : keep_write(path, buf_view(&text), err);
}
