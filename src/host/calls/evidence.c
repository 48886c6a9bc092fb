/* SPDX-License-Identifier: Apache-2.0
 * What a GPU program does on the host, on a system with calls: CPU time of the process and its threads, waits of the main thread,
 * children. What the system doesn't distinguish is absent, never 0.
 */
#include "host/evidence/evidence.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "host/calls/calls.h"
#include "host/evidence/watched.h"
#include "host/listens.h"
#include "host/tree.h"

enum {
    LOOKS_MAX = 8,
    CHILDREN_MS = 100,
    SYSTEM_TICK_MS = 16, /* many systems count CPU time in clock ticks: shorter intervals are noise */
};

/* The process at one moment. */
struct calls_look {
    struct mono at;
    struct calls_process process;
    enum calls_wait wait; /* of the main thread */
    int64_t main_id, main_cpu_ns;
    int threads_rc; /* negative: its threads can't be read */
};

struct calls_memory_of {
    struct watched_process watched;     /* first */
    struct calls_look looks[LOOKS_MAX]; /* newest last */
    size_t look_count;
    struct calls_thread *threads; /* of the newest look, and of the one before */
    int thread_count;
    struct mono threads_at;
    struct reading busiest;
    char busiest_name[EVIDENCE_NAME_SIZE];
    struct process_tree children;
    struct tree_use child_use;
    int child_looks;
};

struct evidence_reader {
    const struct env *env;
    const struct system_calls *calls;
    struct mono now;
    bool quick;
    struct listeners listeners;
    struct watch_list watched;
};

static void calls_memory_done(struct watched_process *watched, void *reader)
{
    (void)reader;
    struct calls_memory_of *w = (struct calls_memory_of *)watched;
    tree_done(&w->children);
    free(w->threads);
}

struct evidence_reader *evidence_new(const struct env *env)
{
    struct evidence_reader *r = calloc(1, sizeof *r);
    if (r) {
        r->env = env;
        r->calls = calls_of(env);
        r->watched.done = calls_memory_done;
    }
    return r;
}

void evidence_free(struct evidence_reader *r)
{
    if (!r)
        return;
    watched_done(&r->watched);
    free(r);
}

void evidence_begin(struct evidence_reader *r, const struct evidence_round *round)
{
    r->now = clock_mono(r->env->clock);
    r->quick = round->quick;
    watched_forget_old(&r->watched, r->now, round->gap_ms);
}

size_t evidence_candidates(struct evidence_reader *r, struct evidence_target *ret, size_t max)
{
    (void)r, (void)ret, (void)max;
    return 0; /* only the driver knows which processes use a GPU */
}

static struct calls_memory_of *remember(struct evidence_reader *r, const struct evidence_target *target)
{
    struct watched_process *known = watched_find(&r->watched, target);
    if (known)
        return (struct calls_memory_of *)known;
    struct calls_memory_of *w = watched_has_room(&r->watched) ? calloc(1, sizeof *w) : NULL;
    if (!w)
        return NULL;
    w->watched.target = *target;
    if (tree_init(&w->children, target->pid) < 0) {
        free(w);
        return NULL;
    }
    watched_add(&r->watched, &w->watched);
    return w;
}

/* ---- looks ---- */

static int64_t cpu_before(const struct calls_memory_of *w, int64_t id)
{
    for (int i = 0; i < w->thread_count; i++)
        if (w->threads[i].id == id)
            return w->threads[i].cpu_ns;
    return -1;
}

/* Permille of one core. */
static struct reading core_share(int64_t used_ns, int64_t elapsed_ns)
{
    return elapsed_ns <= 0 ? reading_absent(READING_PENDING)
                           : reading_ok((int64_t)((double)MAX_OF(used_ns, (int64_t)0) * 1000 / (double)elapsed_ns + 0.5));
}

static void compare_threads(struct calls_memory_of *w, const struct calls_thread *list, int count, struct mono now)
{
    w->busiest = reading_absent(w->thread_count ? READING_UNSUPPORTED : READING_PENDING);
    for (int i = 0; i < count; i++) {
        int64_t before = cpu_before(w, list[i].id);
        struct reading share = core_share(list[i].cpu_ns - before, now.ns - w->threads_at.ns);
        if (before < 0 || list[i].cpu_ns < 0 || share.state != READING_OK ||
            (w->busiest.state == READING_OK && w->busiest.value >= share.value))
            continue;
        w->busiest = share;
        str_copy_clean(w->busiest_name, sizeof w->busiest_name, str_from(list[i].name));
    }
}

static void look_at_threads(struct evidence_reader *r, struct calls_memory_of *w, struct calls_look *l)
{
    AUTO_FREE struct calls_thread *list = calloc(CALLS_THREADS_MAX, sizeof *list);
    int count = list ? CALL(r->calls, threads, w->watched.target.pid, list, CALLS_THREADS_MAX) : -ENOMEM;
    l->threads_rc = count <= 0 ? (count ? count : -ESRCH) : 0;
    l->main_cpu_ns = -1;
    if (count <= 0)
        return;
    l->wait = list[0].wait;
    l->main_id = list[0].id;
    l->main_cpu_ns = list[0].cpu_ns;
    if (w->threads && mono_since_ms(r->now, w->threads_at) < SYSTEM_TICK_MS)
        return;
    compare_threads(w, list, count, r->now);
    free(w->threads);
    w->threads = TAKE(list);
    w->thread_count = count;
    w->threads_at = r->now;
}

static int calls_look(struct evidence_reader *r, struct calls_memory_of *w)
{
    struct calls_look l = {.at = r->now};
    int rc = CALL(r->calls, process, w->watched.target.pid, &l.process);
    if (rc < 0)
        return rc;
    if (w->watched.target.start_key && l.process.start_key != w->watched.target.start_key)
        return -ESRCH;
    look_at_threads(r, w, &l);
    if (r->calls->processes && (!w->child_looks || mono_since_ms(r->now, w->children.looked_at) >= CHILDREN_MS)) {
        tree_look(&w->children, r->env, &w->child_use);
        w->child_looks++;
    }
    if (w->look_count == LOOKS_MAX)
        memmove(w->looks, w->looks + 1, --w->look_count * sizeof w->looks[0]);
    w->looks[w->look_count++] = l;
    w->watched.looked_at = l.at;
    return 0;
}

/* ---- writing the evidence ---- */

static const struct {
    enum calls_wait wait;
    enum evidence field;
} shares[] = {
    {CALLS_WAIT_DISK, EVIDENCE_main_disk_permille},   {CALLS_WAIT_LOCK, EVIDENCE_main_lock_permille},
    {CALLS_WAIT_SLEEP, EVIDENCE_main_sleep_permille}, {CALLS_WAIT_STOPPED, EVIDENCE_main_other_permille},
    {CALLS_WAIT_OTHER, EVIDENCE_main_other_permille},
};

/* How the main thread's looks divide among the waits that the system distinguishes. */
static void write_main(const struct evidence_reader *r, const struct calls_memory_of *w, size_t first, struct host_evidence *ret)
{
    int seen[CALLS_WAIT_OTHER + 1] = {0}, looks = (int)(w->look_count - first);
    const struct calls_look *from = &w->looks[first], *to = &w->looks[w->look_count - 1];
    for (size_t i = first; i < w->look_count; i++)
        seen[w->looks[i].wait]++;
    if (to->threads_rc < 0 || seen[CALLS_WAIT_UNKNOWN]) {
        struct reading absent = reading_absent(to->threads_rc < 0 ? reading_state_from_errno(to->threads_rc) : READING_UNSUPPORTED);
        ret->main_running_permille = ret->main_cpu_permille = ret->stopped = absent;
        return;
    }
    ret->main_running_permille = reading_ok((int64_t)seen[CALLS_WAIT_RUNNING] * 1000 / looks);
    ret->stopped = reading_ok(to->wait == CALLS_WAIT_STOPPED);
    for (size_t i = 0; i < ARRAY_LEN(shares); i++) {
        struct reading *share = &ret->metric[shares[i].field];
        if (r->calls->waits_told && r->calls->waits_told(shares[i].wait))
            *share = reading_ok(reading_or(*share, 0) + (int64_t)seen[shares[i].wait] * 1000 / looks);
    }
    if (from->main_id == to->main_id && from->main_cpu_ns >= 0 && to->main_cpu_ns >= 0)
        ret->main_cpu_permille = core_share(to->main_cpu_ns - from->main_cpu_ns, to->at.ns - from->at.ns);
}

static struct reading counted(int64_t before, int64_t now, int64_t elapsed_ns)
{
    if (before < 0 || now < 0)
        return reading_absent(READING_UNSUPPORTED);
    if (elapsed_ns <= 0)
        return reading_absent(READING_PENDING);
    return reading_ok((int64_t)((double)MAX_OF(now - before, (int64_t)0) * NS_PER_S / (double)elapsed_ns + 0.5));
}

static void write_rates(const struct calls_memory_of *w, size_t first, struct host_evidence *ret)
{
    const struct calls_look *from = &w->looks[first], *to = &w->looks[w->look_count - 1];
    int64_t elapsed_ns = to->at.ns - from->at.ns;
    bool too_short = elapsed_ns < SYSTEM_TICK_MS * (int64_t)NS_PER_MS;
    const struct {
        int64_t before, now;
        struct reading *to;
    } times[] = {{from->process.cpu_ns, to->process.cpu_ns, &ret->cpu_permille},
                 {from->process.system_ns, to->process.system_ns, &ret->system_permille}};
    for (size_t i = 0; i < ARRAY_LEN(times); i++) {
        if (times[i].before < 0 || times[i].now < 0)
            *times[i].to = reading_absent(READING_UNSUPPORTED);
        else
            *times[i].to = too_short ? reading_absent(READING_PENDING) : core_share(times[i].now - times[i].before, elapsed_ns);
    }
    ret->read_bytes_per_s = counted(from->process.read_bytes, to->process.read_bytes, elapsed_ns);
    ret->write_bytes_per_s = counted(from->process.written_bytes, to->process.written_bytes, elapsed_ns);
}

static void write_children(const struct calls_memory_of *w, struct host_evidence *ret)
{
    if (!w->children.looked_at.ns)
        return;
    bool first = w->child_looks < 2;
    ret->child_count = reading_ok((int64_t)w->child_use.processes);
    ret->child_cpu_permille = first ? reading_absent(READING_PENDING) : reading_ok(w->child_use.cpu_permille);
    ret->child_busiest_permille = first ? reading_absent(READING_PENDING) : reading_ok(w->child_use.cpu_busiest_permille);
}

static void evidence_write(struct evidence_reader *r, const struct calls_memory_of *w, struct host_evidence *ret)
{
    size_t first = w->look_count >= 2 ? w->look_count - 2 : 0;
    while (first > 0 && mono_since_ms(r->now, w->looks[first - 1].at) <= WINDOW_MS)
        first--;
    evidence_clear(ret);
    ret->looks = (int64_t)(w->look_count - first);
    ret->over_ms = mono_since_ms(w->looks[w->look_count - 1].at, w->looks[first].at);
    write_main(r, w, first, ret);
    write_rates(w, first, ret);
    write_children(w, ret);
    ret->busiest_thread_permille = w->busiest.state ? w->busiest : reading_absent(READING_UNSUPPORTED);
    str_copy(ret->busiest_thread, sizeof ret->busiest_thread, str_from(w->busiest_name));
    bool listens = process_is_server(r->env, w->watched.target.pid, r->now, &r->listeners);
    if (r->listeners.network[0])
        ret->listens = reading_ok(listens);
}

void evidence_look(struct evidence_reader *r, const struct evidence_target *target, struct host_evidence *ret)
{
    *ret = (struct host_evidence){.state = READING_FAILED};
    if (!r->calls->process) {
        ret->state = READING_UNSUPPORTED;
        return;
    }
    struct calls_memory_of *w = remember(r, target);
    if (!w)
        return;
    r->now = clock_mono(r->env->clock);
    int rc = watched_is_recent(&w->watched, r->now, r->quick) ? 0 : calls_look(r, w);
    if (rc == 0) {
        evidence_write(r, w, ret);
        return;
    }
    ret->state = reading_state_from_errno(rc);
    watched_forget(&r->watched, &w->watched);
}
