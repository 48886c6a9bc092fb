/* SPDX-License-Identifier: Apache-2.0
 * Parses kernel log lines into faults of GPUs.
 */
#include "engine/engine.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "host/kernel_log.h"
#include "source/fault/fault.h"

enum { WAITING_MAX = 256, LINES_MAX = 200000 };

/* A logged fault that waits for its GPU: one that hasn't been seen yet, or is lost. */
struct waiting {
    bool xid;                       /* an XID, not a fault of kernel_log.def */
    char pci_address[GPU_PCI_SIZE]; /* "": of a switch, which concerns all GPUs with links */
    int64_t code;
    struct wall at;
};

struct fault_log {
    const struct env *env;
    struct kernel_log *log; /* opened with the first sample that may have a real GPU */
    bool skipped;
    struct health_log_mark seen; /* by an earlier daemon */
    struct health_log_mark read; /* by this one */
    struct waiting waiting[WAITING_MAX];
    size_t waiting_count;
};

struct fault_log *fault_log_new(const struct env *env)
{
    struct fault_log *l = calloc(1, sizeof *l);
    if (l)
        *l = (struct fault_log){.env = env, .skipped = true};
    return l;
}

void fault_log_free(struct fault_log *l)
{
    if (l)
        kernel_log_close(l->log);
    free(l);
}

static void remember(struct fault_log *l, struct waiting what)
{
    if (l->waiting_count == WAITING_MAX) {
        memmove(&l->waiting[0], &l->waiting[1], (WAITING_MAX - 1) * sizeof l->waiting[0]);
        l->waiting_count--;
    }
    l->waiting[l->waiting_count++] = what;
}

static bool parse_line(const struct kernel_line *line, struct waiting *ret)
{
    struct fault_line fault;
    *ret = (struct waiting){.at = line->at, .code = switch_fault_parse(line->text)};
    if (ret->code)
        return true;
    ret->xid = xid_parse(line->text, &fault);
    if (!ret->xid && !driver_fault_parse(line->text, &fault))
        return false;
    ret->code = fault.code;
    str_copy(ret->pci_address, sizeof ret->pci_address, str_from(fault.pci_address));
    return true;
}

void fault_log_read(struct fault_log *l)
{
    struct kernel_line line;
    if (!l->log)
        l->log = kernel_log_open(l->env);
    l->skipped = !l->log;
    if (!l->log)
        return;
    for (int i = 0; i < LINES_MAX && kernel_log_next(l->log, &line); i++) {
        struct waiting what;
        if (line.boot)
            l->waiting_count = 0; /* the boot reset all GPUs */
        bool seen = line.us >= 0 ? line.us <= l->seen.us : line.at.ms <= l->seen.at.ms;
        if (seen || !parse_line(&line, &what))
            continue;
        l->read = (struct health_log_mark){MAX_OF(line.us, l->read.us), line.at};
        remember(l, what);
    }
}

static bool fault_log_note(struct health_history *h, const struct waiting *x, const struct snapshot *s)
{
    if (!x->pci_address[0])
        return health_note_switch_fault(h, s, x->code, x->at);
    return x->xid ? health_note_xid(h, x->pci_address, x->code, x->at)
                  : health_note_driver_fault(h, x->pci_address, x->code, x->at);
}

void fault_log_deliver(struct fault_log *l, struct health_history *to, const struct snapshot *s)
{
    size_t kept = 0;
    if (!l->waiting_count)
        return;
    health_meet(to, s);
    for (size_t i = 0; i < l->waiting_count; i++)
        if (!fault_log_note(to, &l->waiting[i], s))
            l->waiting[kept++] = l->waiting[i];
    l->waiting_count = kept;
}

void fault_log_skip(struct fault_log *l, struct health_log_mark until)
{
    l->seen = l->read = until;
}

struct health_log_mark fault_log_mark(const struct fault_log *l)
{
    return l->read;
}

bool fault_log_is_unread(const struct fault_log *l)
{
    return !l->skipped && kernel_log_state(l->log) != KERNEL_LOG_READ;
}

const char *fault_log_state(const struct fault_log *l)
{
    static const char *const names[] = {[KERNEL_LOG_READ] = "read", [KERNEL_LOG_DENIED] = "denied", [KERNEL_LOG_ABSENT] = "absent"};
    return l->skipped ? "skipped" : names[kernel_log_state(l->log)];
}

const char *fault_log_message(const struct fault_log *l)
{
    return l->skipped ? "" : kernel_log_message(l->log);
}
