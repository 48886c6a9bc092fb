/* SPDX-License-Identifier: Apache-2.0
 * Who holds the GPU, and how each can make room.
 */
#include "cli/free/free.h"

#include <stdio.h>
#include <string.h>

#include "answer/answer.h"
#include "base/words.h"
#include "format/process_rows.h"

/* A server's models are in its own process, or in children of it. */
static const struct free_worker *worker_of(const struct process *p, const struct free_worker *workers, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (workers[i].pid && (workers[i].pid == p->pid || workers[i].pid == p->parent))
            return &workers[i];
    return NULL;
}

static void add(struct free_plan *plan, const struct gpu *gpu, const struct process *p, const struct free_worker *w,
                const char *user)
{
    if (plan->count == HOLDERS_MAX)
        return;
    struct gpu_holder *h = &plan->holders[plan->count++];
    *h = (struct gpu_holder){.gpu_index = gpu->index, .pid = p->pid, .bytes = p->mem_bytes};
    snprintf(h->name, sizeof h->name, "%s%s%s", process_title(p)[0] ? process_title(p) : "a process", p->model[0] ? " · " : "",
             p->model);
    str_copy(h->user, sizeof h->user, str_from(p->user));
    str_copy(h->lease, sizeof h->lease, str_from(p->lease));
    bool others = user[0] && p->user[0] && strcmp(user, p->user) != 0;
    h->way = w                                ? HOLDER_UNLOADS
             : process_draws_desktop(p->name) ? HOLDER_DESKTOP
             : others && p->lease[0]          ? HOLDER_LEASED
             : others || !p->visible          ? HOLDER_OTHERS
                                              : HOLDER_OWN;
    if (!w)
        return;
    str_copy(h->worker, sizeof h->worker, str_from(w->name));
    str_copy(h->method, sizeof h->method, str_from(w->method));
    plan->unload_bytes += reading_or(p->mem_bytes, 0);
}

void free_plan_make(struct free_plan *plan, const struct snapshot *s, int only, const struct free_worker *workers, size_t count,
                    const char *user)
{
    const struct process *sorted[GPU_PROCESSES_MAX];
    *plan = (struct free_plan){0};
    for (size_t i = 0; i < s->gpu_count; i++) {
        const struct gpu *gpu = &s->gpus[i];
        if (only != ALL_GPUS && (size_t)only != i)
            continue;
        plan->simulated |= gpu->simulated;
        size_t there = process_biggest_first(gpu, sorted);
        for (size_t k = 0; k < there; k++)
            if (reading_or(sorted[k]->mem_bytes, 1) > 0)
                add(plan, gpu, sorted[k], worker_of(sorted[k], workers, count), user);
    }
}

static void way_text(const struct gpu_holder *h, char *text, size_t size)
{
    const char *who = h->user[0] ? h->user : "its user";
    switch (h->way) {
    case HOLDER_UNLOADS: snprintf(text, size, "makes room (%s), comes back", h->method[0] ? h->method : "guard"); return;
    case HOLDER_LEASED: snprintf(text, size, "lease %s of %s: ask %s", h->lease, who, who); return;
    case HOLDER_DESKTOP: snprintf(text, size, "stays: draws the screen"); return;
    case HOLDER_OTHERS: snprintf(text, size, "ask %s", who); return;
    case HOLDER_OWN: snprintf(text, size, "yours: close it (PID %d)", h->pid); return;
    }
}

void free_plan_text(struct buf *out, const struct page *page, const struct free_plan *plan)
{
    int last = -1;
    page_simulated_line(out, page, plan->simulated);
    for (size_t i = 0; i < plan->count; i++) {
        const struct gpu_holder *h = &plan->holders[i];
        char way[160], bytes[WORDS_SIZE] = "?", who[HOLDER_NAME_SIZE + PROCESS_USER_SIZE + 4];
        way_text(h, way, sizeof way);
        if (h->bytes.state == READING_OK)
            words_bytes(h->bytes.value, bytes);
        if (h->gpu_index != last)
            buf_printf(out, "GPU %d is held by\n", h->gpu_index);
        last = h->gpu_index;
        snprintf(who, sizeof who, "%s%s%s%s", h->name, h->user[0] ? " (" : "", h->user, h->user[0] ? ")" : "");
        buf_text(out, "  ");
        page_cell(out, page, INK_PLAIN, RIGHT, bytes, 9);
        buf_text(out, "  ");
        page_cell(out, page, INK_PLAIN, LEFT, who, 34);
        buf_text(out, "  ");
        page_wrap(out, page, h->way == HOLDER_UNLOADS ? INK_GOOD : INK_FAINT, way, 49, 49);
    }
}

static const char *way_name(enum holder_way way)
{
    return (const char *const[]){"unload", "lease", "desktop", "own", "other_user"}[way];
}
ANSWER_NAMES(ways, enum holder_way, way_name, HOLDER_UNLOADS, HOLDER_OTHERS);

static bool make_mb(const struct answer_at *at, union answer_value *ret)
{
    const struct gpu_holder *h = at->record;
    ret->number = h->bytes.value >> 20;
    return h->bytes.state == READING_OK;
}

ANSWER_TABLE(holder_answer, struct gpu_holder)
{
    FIELD(INT, "gpu_index", gpu_index, NULL);
    FIELD(INT, "pid", pid, NULL);
    FIELD(TEXT, "name", name, NULL);
    FIELD(TEXT, "user", user, NULL, OR_NULL);
    MADE(INT, "memory_mb", make_mb, NULL, OR_NULL);
    FIELD(NAME, "way", way, NULL, NAMES(ways));
    FIELD(TEXT, "worker", worker, NULL, OR_NULL);
    FIELD(TEXT, "lease", lease, NULL, OR_NULL);
}

struct told_plan {
    const struct gpu_holder *holders;
    size_t count;
    int64_t freed_mb;
    bool back, simulated;
};

ANSWER_TABLE(plan_answer, struct told_plan)
{
    OBJECTS("holders", holders, count, holder_answer, NULL);
    FIELD(INT, "freed_mb", freed_mb, NULL);
    FIELD(BOOL, "back", back, NULL);
    FIELD(BOOL, "simulated", simulated, NULL);
}

void free_plan_json(struct buf *out, const struct free_plan *plan, int64_t freed_bytes, bool back)
{
    answer_write(JSON_PAGE(out), &plan_answer,
                 &(struct told_plan){plan->holders, plan->count, freed_bytes >> 20, back, plan->simulated}, NULL);
}
