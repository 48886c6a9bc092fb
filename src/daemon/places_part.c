/* SPDX-License-Identifier: Apache-2.0
 * Places as a part of the daemon, where `[limits] places` asks for them: when what limits a program on a GPU changes, a thread
 * samples its lines for two seconds, and the history keeps where it was as an event of kind "place". So it does of a rank when
 * others begin to wait for it.
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json_writer.h"
#include "base/log.h"
#include "base/words.h"
#include "daemon/part.h"
#include "host/frames/looks.h"

enum { PROGRAMS_MAX = 64, AGAIN_MS = 10000 };

/* A program that was looked into, and where it was. */
struct placed_program {
    int32_t pid;
    int64_t start_key;
    enum limit limit;        /* at that time */
    bool awaited;            /* by other ranks, at that time */
    struct mono next;        /* not before */
    char place[PLACE_WORDS]; /* "augment(), train.py:214"; "" unknown */
    bool listed;             /* in this sample */
};

/* One look, in a thread of its own. */
struct place_look {
    pthread_t thread;
    _Atomic bool over, cancel;
    const struct env *env;
    const struct snapshot *snapshot;
    const struct process *process; /* in the snapshot */
    int gpu_index;
    int rc;
    struct error err;
    char place[PLACE_WORDS], words[PLACE_WORDS];
    struct place_keys {
        char file[512], function[256];
        int32_t line;
    } keys;
};

struct places_part {
    const struct env *env;
    struct store_service *store;
    bool wanted, denied;     /* denied: that was logged */
    struct place_look *look; /* NULL: none under way */
    size_t count;
    struct placed_program programs[PROGRAMS_MAX];
};

static void keep_place(struct place_look *l, const struct place *p)
{
    place_brief(p, l->place);
    place_words(p, true, l->words);
    str_copy(l->keys.file, sizeof l->keys.file, str_from(p->file));
    str_copy(l->keys.function, sizeof l->keys.function, str_from(p->function));
    l->keys.line = p->line;
}

static void *look(void *arg)
{
    struct place_look *l = arg;
    struct looks looks;
    struct program_lines lines;
    const struct lines_request request = {
        .pid = l->process->pid, .ms = LINES_MS, .looks_per_s = LINES_LOOKS_PER_S, .cancel = &l->cancel, .for_others = true};
    l->rc = lines_take(l->env, &request, &looks, &l->err);
    if (l->rc == 0) {
        looks_judge(&looks, &lines);
        if (lines.count && lines.places[0].file && lines.places[0].function)
            keep_place(l, &lines.places[0]);
        looks_done(&looks);
    }
    atomic_store(&l->over, true);
    return NULL;
}

static struct placed_program *program_of(struct places_part *p, const struct process *process)
{
    for (size_t i = 0; i < p->count; i++)
        if (p->programs[i].pid == process->pid && p->programs[i].start_key == process->start_key)
            return &p->programs[i];
    if (p->count == PROGRAMS_MAX)
        return NULL; /* the first ones are looked into; others when one of them ends */
    p->programs[p->count] = (struct placed_program){.pid = process->pid, .start_key = process->start_key};
    return &p->programs[p->count++];
}

static void begin(struct places_part *p, struct placed_program *program, const struct gpu *gpu, const struct process *process,
                  const struct snapshot *s)
{
    struct place_look *l = calloc(1, sizeof *l);
    program->limit = process->limit.code;
    program->awaited = snapshot_waiting_ranks(s, process) > 0;
    program->next = (struct mono){s->taken.ns + AGAIN_MS * (int64_t)NS_PER_MS};
    if (!l)
        return;
    l->env = p->env;
    l->snapshot = snapshot_ref(s);
    l->process = process;
    l->gpu_index = gpu->index;
    if (pthread_create(&l->thread, NULL, look, l) == 0) {
        p->look = l;
        return;
    }
    snapshot_unref(s);
    free(l);
}

/* Writes down where the program is now, and where it was. */
static void record(struct places_part *p, const struct place_look *l, struct wall at)
{
    if (l->rc == -EPERM && !p->denied)
        log_warn("the line in which a program spends its time can't be seen", LOG_INT("pid", l->process->pid),
                 LOG_TEXT("error", l->err.text));
    p->denied |= l->rc == -EPERM;
    struct placed_program *program = program_of(p, l->process);
    int waiting = snapshot_waiting_ranks(l->snapshot, l->process);
    char who[PROCESS_WORDS], late[PLACE_WORDS + WORDS_SIZE], text[2 * PLACE_WORDS + PROCESS_WORDS];
    if (!program || !l->place[0] || (strcmp(program->place, l->place) == 0 && !waiting))
        return;
    process_words(l->process, WITH_PID, who);
    if (process_late_words(l->process, waiting, l->place, late, sizeof late)[0])
        snprintf(text, sizeof text, "%s: %s", who, late);
    else
        snprintf(text, sizeof text, program->place[0] ? "%s: %s; before, %s" : "%s: %s", who, l->words, program->place);
    str_copy(program->place, sizeof program->place, str_from(l->place));
    AUTO_BUF struct buf data = BUF(8192);
    struct json_writer j = JSON_WRITER(&data);
    jw_object(&j);
    jw_key_int(&j, "pid", l->process->pid);
    jw_key_text(&j, "limit", limit_name(l->process->limit.code));
    jw_key_text(&j, "file", l->keys.file);
    jw_key_int(&j, "line", l->keys.line);
    jw_key_text(&j, "function", l->keys.function);
    jw_key_int(&j, "waiting_ranks", waiting);
    jw_end(&j);
    store_service_event(p->store, &(struct store_event){.at = at,
                                                        .gpu_index = l->gpu_index,
                                                        .kind = "place",
                                                        .severity = "info",
                                                        .text = text,
                                                        .data = data.failed ? NULL : buf_view(&data).at});
}

static void finish(struct places_part *p)
{
    struct place_look *l = TAKE(p->look);
    pthread_join(l->thread, NULL);
    snapshot_unref(l->snapshot);
    free(l);
}

static void forget_ended(struct places_part *p)
{
    size_t kept = 0;
    for (size_t i = 0; i < p->count; i++)
        if (p->programs[i].listed)
            p->programs[kept++] = p->programs[i];
    p->count = kept;
}

static void places_part_sampled(void *part, const struct snapshot *s)
{
    struct places_part *p = part;
    if (p->look && atomic_load(&p->look->over)) {
        if (p->wanted && p->store)
            record(p, p->look, s->taken_at);
        finish(p);
    }
    if (!p->wanted || !p->store)
        return;
    for (size_t i = 0; i < p->count; i++)
        p->programs[i].listed = false;
    for (size_t g = 0; g < s->gpu_count; g++)
        for (size_t i = 0; i < s->gpus[g].process_count; i++) {
            const struct process *process = &s->gpus[g].processes[i];
            /* A simulated or hidden program's PID may be another one's here. */
            bool ours = !s->gpus[g].simulated && process->visible && limit_side(process->limit.code) != LIMIT_SIDE_NOTHING;
            struct placed_program *program = ours ? program_of(p, process) : NULL;
            if (!program)
                continue;
            program->listed = true;
            bool changed = program->limit != process->limit.code || program->awaited != (snapshot_waiting_ranks(s, process) > 0);
            if (!p->look && changed && process->limit.code != LIMIT_STRAGGLER_WAIT && process->limit.code != LIMIT_KERNEL_WAIT &&
                s->taken.ns >= program->next.ns)
                begin(p, program, &s->gpus[g], process, s);
        }
    forget_ended(p);
}

static void places_part_reload(void *part, const struct config *config)
{
    ((struct places_part *)part)->wanted = config->limits.places;
}

static void *open_places(const struct part_host *host, struct error *err)
{
    (void)err;
    struct places_part *p = calloc(1, sizeof *p);
    if (p)
        *p = (struct places_part){.env = host->env, .store = host->store, .wanted = host->config->limits.places};
    return p;
}

static void close_places(void *part)
{
    struct places_part *p = part;
    if (p && p->look) {
        p->look->cancel = true;
        finish(p);
    }
    free(p);
}

const struct part_ops places_part_ops = {
    .name = "places", .open = open_places, .sampled = places_part_sampled, .reload = places_part_reload, .close = close_places};
