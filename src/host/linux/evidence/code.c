/* SPDX-License-Identifier: Apache-2.0
 * Whose code the busiest threads of a process run: the kernel samples their addresses between two looks, and the file of each
 * address shows whether it is Python, the GPU driver, a compiler or a library. Plus the model files that the process has mapped.
 */
#include <stdio.h>

#include "base/cleanup.h"
#include "host/linux/evidence/internal.h"

enum {
    FREQUENCY = 97,
    QUICK_FREQUENCY = 997, /* a person waits: milliseconds must suffice */
    SAMPLES_LEAST = 8,
    PROCESSES_MAX = 4,
    RUNS_PERMILLE = 300,      /* of a core: less needs no explanation */
    MAPS_SOON_MS = 10 * 1000, /* a starting program is about to map its model; then twice as long each time */
    MAPS_LATE_MS = 320 * 1000,
    MAPS_BYTES_MAX = 4 << 20,
    MODEL_FILES_MAX = 64,
};

void code_done(struct evidence_reader *r, struct code_memory *m)
{
    r->sampling -= m->sampler != NULL;
    address_sampler_free(m->sampler);
    m->sampler = NULL;
}

/* ---- samples ---- */

static bool same_threads(const struct code_memory *m, const int32_t *tids, size_t count)
{
    bool known = true;
    for (size_t i = 0; i < count && known; i++) {
        known = false;
        for (size_t k = 0; k < m->count; k++)
            known |= m->tids[k] == tids[i];
    }
    return known;
}

static void start(struct evidence_reader *r, struct evidence_memory *w)
{
    struct code_memory *m = &w->code;
    int32_t tids[CODE_THREADS];
    size_t count = threads_hottest(&w->threads, w->watched.target.pid, tids, CODE_THREADS);
    if (m->sampler && same_threads(m, tids, MIN_OF(count, (size_t)2)))
        return;
    code_done(r, m);
    if (r->sampling >= PROCESSES_MAX)
        return;
    int rc = address_sampler_new(&m->sampler, r->env, w->watched.target.pid, tids, count, r->quick ? QUICK_FREQUENCY : FREQUENCY);
    m->is_refused = rc == -EACCES || rc == -EPERM || rc == -ENOSYS;
    r->sampling += rc == 0;
    m->count = count;
    memcpy(m->tids, tids, sizeof tids);
}

/* The file, other than Python's, with the most samples; without suffixes. */
static void name_object(struct code_memory *m, const struct address_samples *s)
{
    m->object[0] = '\0';
    for (size_t i = 0; i < ADDRESS_OBJECTS && !m->object[0]; i++) {
        struct str name = str_from(s->objects[i].name), stem = name;
        enum address_group group = address_group_of(name, false);
        if (!name.len || group == ADDRESS_PYTHON || group == ADDRESS_KERNEL)
            continue;
        str_cut(&name, '.', &stem);
        str_copy_clean(m->object, sizeof m->object, stem);
    }
}

static void read_samples(struct code_memory *m, bool quick)
{
    struct address_samples s;
    address_sampler_read(m->sampler, &s);
    int64_t due = s.cpu_permille * s.over_ms / 1000 * (quick ? QUICK_FREQUENCY : FREQUENCY) / 1000;
    if (MAX_OF(due, s.samples) < SAMPLES_LEAST)
        return;
    for (int g = 0; g < ADDRESS_GROUPS; g++)
        m->shares[g] = reading_ok(MIN_OF(s.permille[g], (int64_t)1000));
    name_object(m, &s);
    if (!quick)
        address_sampler_restart(m->sampler);
}

/* ---- models ---- */

struct model_file {
    struct str path;
    int64_t bytes;
};

static bool is_model(struct str path)
{
    return str_ends(path, ".gguf") || str_ends(path, ".safetensors") || str_ends(path, ".ggml") || str_ends(path, ".llamafile") ||
           str_contains(path, "/blobs/sha256-");
}

/* "7f00-7f80 r--s 00100000 fd:01 42 /models/llama.gguf": the mapped part of the file. */
static bool read_mapping(struct str line, struct model_file *ret)
{
    struct str range, word, from;
    int64_t low, high, offset;
    if (!str_word(&line, &range) || !str_word(&line, &word) || !str_word(&line, &word) || !str_to_cursor(word, &offset) ||
        !str_cut(&range, '-', &from) || !str_to_cursor(from, &low) || !str_to_cursor(range, &high) || high < low || offset < 0 ||
        !str_word(&line, &word) || !str_word(&line, &word))
        return false;
    return !__builtin_add_overflow(high - low, offset, &ret->bytes) && (ret->path = str_trim(line), is_model(ret->path));
}

static void find_models(struct evidence_reader *r, struct evidence_memory *w)
{
    AUTO_BUF struct buf maps = BUF(MAPS_BYTES_MAX);
    char path[64];
    struct env quiet = *r->env; /* keep a process's mappings out of recordings */
    struct model_file files[MODEL_FILES_MAX], one;
    size_t count = 0;
    int64_t sum = 0;
    quiet.on_read = NULL;
    snprintf(path, sizeof path, "/proc/%d/maps", (int)w->watched.target.pid);
    if (file_read_all(&quiet, path, &maps) < 0) {
        w->code.model_bytes = reading_absent(READING_UNSUPPORTED);
        return;
    }
    for (struct str rest = buf_view(&maps), line; str_cut(&rest, '\n', &line);) {
        size_t i = 0;
        if (!str_contains(line, "/") || !read_mapping(line, &one))
            continue;
        while (i < count && !str_equal(files[i].path, one.path))
            i++;
        if (i < count)
            files[i].bytes = MAX_OF(files[i].bytes, one.bytes);
        else if (count < MODEL_FILES_MAX)
            files[count++] = one;
    }
    for (size_t i = 0; i < count; i++)
        sum += MIN_OF(files[i].bytes, INT64_MAX / MODEL_FILES_MAX);
    w->code.model_bytes = reading_ok(sum);
}

/* ---- a look ---- */

void code_look(struct evidence_reader *r, struct evidence_memory *w, bool full)
{
    struct code_memory *m = &w->code;
    bool runs = w->looks[w->look_count - 1].kind == WAIT_RUNNING || reading_or(w->threads.busiest, 0) >= RUNS_PERMILLE;
    if (m->sampler)
        read_samples(m, r->quick);
    if (!runs && !r->quick) {
        code_done(r, m);
        for (int g = 0; g < ADDRESS_GROUPS; g++)
            m->shares[g] = reading_absent(READING_PENDING);
        m->object[0] = '\0';
        return;
    }
    if (!m->sampler ? !m->is_refused : full)
        start(r, w);
    if (full && runs && (!m->maps_at.ns || mono_since_ms(r->now, m->maps_at) >= m->maps_again_ms) && budget_take(r)) {
        find_models(r, w);
        m->maps_again_ms = MIN_OF(MAX_OF(2 * m->maps_again_ms, (int64_t)MAPS_SOON_MS), (int64_t)MAPS_LATE_MS);
        m->maps_at = r->now;
    }
}

void code_write(const struct code_memory *m, struct host_evidence *ret)
{
    ret->model_bytes = m->model_bytes;
    ret->code_python_permille = m->shares[ADDRESS_PYTHON];
    ret->code_driver_permille = m->shares[ADDRESS_DRIVER];
    ret->code_compiler_permille = m->shares[ADDRESS_COMPILER];
    ret->code_kernel_permille = m->shares[ADDRESS_KERNEL];
    ret->code_native_permille = m->shares[ADDRESS_LIBRARIES];
    if (ret->code_native_permille.state == READING_OK)
        ret->code_native_permille.value += reading_or(m->shares[ADDRESS_PROGRAM], 0);
    else if (m->is_refused)
        ret->code_python_permille = ret->code_driver_permille = ret->code_compiler_permille = ret->code_kernel_permille =
            ret->code_native_permille = reading_absent(READING_DENIED);
    str_copy(ret->code, sizeof ret->code, str_from(m->object));
}
