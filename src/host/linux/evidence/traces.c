/* SPDX-License-Identifier: Apache-2.0
 * Where a rank's job writes about its collectives, as its environment says, and the newest of that. Only regular files of the
 * process's own user are read, whole up to a limit, and none that is older than some minutes.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "host/collective.h"
#include "host/identity.h"
#include "host/linux/evidence/internal.h"

enum {
    AGAIN_MS = 10 * 1000,
    FRESH_MS = 10 * 60 * 1000,
    ENVIRON_MAX = 128 << 10,
    FLIGHT_MAX = 16 << 20,
    TAIL_MAX = 256 << 10, /* of an Inspector's file */
    RANKS_READ = 64,
    NAMES_SEEN = 1024,
    EXPENSIVE = 16, /* counts as this many files */
};

/* ---- the environment ---- */

static struct str variable(struct str environment, const char *name)
{
    struct str one;
    size_t len = strlen(name);
    while (str_cut(&environment, '\0', &one))
        if (str_starts(one, name) && one.len > len && one.at[len] == '=')
            return (struct str){one.at + len + 1, one.len - len - 1};
    return (struct str){0};
}

/* Below the process's own root or working directory. */
static void put_path(char to[TRACE_PATH_SIZE], int32_t pid, struct str path, const char *rest)
{
    int len = snprintf(to, TRACE_PATH_SIZE, "/proc/%d/%s" STR_FMT "%s", (int)pid, path.at[0] == '/' ? "root" : "cwd/",
                       STR_ARG(path), rest);
    if (len < 0 || len >= TRACE_PATH_SIZE)
        to[0] = '\0';
}

static void learn(struct evidence_reader *r, struct evidence_memory *w)
{
    struct trace_memory *m = &w->traces;
    AUTO_BUF struct buf text = BUF(ENVIRON_MAX);
    struct process_job job;
    int32_t pid = w->watched.target.pid;
    m->is_known = true;
    if (process_environment(r->env, pid, &text) < 0)
        return;
    struct str all = buf_view(&text), flight = variable(all, "TORCH_FR_DUMP_TEMP_FILE"), home = variable(all, "HOME");
    process_job((struct str){0}, all, &job);
    m->rank = reading_or(job.rank, -1);
    m->world = m->rank < 0 ? 0 : reading_or(job.world_size, 0);
    if (!flight.len)
        flight = variable(all, "TORCH_NCCL_DEBUG_INFO_TEMP_FILE");
    if (flight.len)
        put_path(m->flight[0], pid, flight, "");
    else { /* torch's defaults, new and old */
        if (home.len)
            put_path(m->flight[0], pid, home, "/.cache/torch/comm_lib_trace_rank_");
        put_path(m->flight[1], pid, STR("/tmp/nccl_trace_rank_"), "");
    }
    struct str folder = variable(all, "NCCL_INSPECTOR_DUMP_DIR"), slurm = variable(all, "SLURM_JOBID");
    char usual[64];
    if (!variable(all, "NCCL_INSPECTOR_ENABLE").len)
        return;
    snprintf(usual, sizeof usual, "nccl-inspector-%.40s", slurm.len ? slurm.at : "unknown-jobid");
    put_path(m->inspector, pid, folder.len ? folder : str_from(usual), "");
}

/* ---- files ---- */

/* A descriptor, or -errno; `stamp`: when it was written, in ms. */
static int open_own(struct evidence_reader *r, const struct evidence_memory *w, const char *path, struct stat *st)
{
    char whole[PATH_SIZE];
    struct stat process;
    int rc = env_path(r->env, whole, "%s", path);
    int fd = rc < 0 ? rc : file_open_at(AT_FDCWD, whole);
    if (fd < 0)
        return fd;
    bool own = fstat(fd, st) == 0 && S_ISREG(st->st_mode) && fstat(w->directory, &process) == 0 && st->st_uid == process.st_uid;
    int64_t age_ms = clock_wall(r->env->clock).ms - (int64_t)st->st_mtim.tv_sec * 1000;
    if (own && age_ms < FRESH_MS && age_ms > -FRESH_MS)
        return fd;
    close(fd);
    return -EPERM;
}

/* Its last `max` bytes; more is refused unless `tail`. */
static struct str read_end(int fd, const struct stat *st, size_t max, bool tail, char **text)
{
    off_t from = st->st_size > (off_t)max ? st->st_size - (off_t)max : 0;
    size_t size = (size_t)(st->st_size - from), len = 0;
    *text = from && !tail ? NULL : malloc(size + 1);
    for (ssize_t n = 1; *text && len < size && n > 0; len += n > 0 ? (size_t)n : 0)
        n = pread(fd, *text + len, size - len, from + (off_t)len);
    return (struct str){*text, len};
}

static int64_t stamp_of(const struct stat *st)
{
    return (int64_t)st->st_mtim.tv_sec * NS_PER_S + st->st_mtim.tv_nsec;
}

/* Whether another rank's look has answered for the same files. */
static bool is_answered(struct evidence_reader *r, struct evidence_memory *w, const char *path, int64_t stamp)
{
    const char *below = strchr(path + strlen("/proc/"), '/'); /* without the PID */
    bool same = r->traces.stamp == stamp && strcmp(r->traces.path, below) == 0;
    if (same)
        w->traces.told = r->traces.told;
    str_copy(r->traces.path, sizeof r->traces.path, str_from(below));
    r->traces.stamp = stamp;
    return same;
}

static void look_at_flight(struct evidence_reader *r, struct evidence_memory *w, const char *prefix)
{
    struct trace_memory *m = &w->traces;
    char path[TRACE_PATH_SIZE + 16];
    struct stat st;
    int64_t stamp = 0;
    size_t count = 0;
    AUTO_FREE struct rank_trace *list = NULL;
    snprintf(path, sizeof path, "%s%lld", prefix, (long long)m->rank);
    int own = prefix[0] ? open_own(r, w, path, &st) : -ENOENT;
    if (own < 0)
        return;
    close(own);
    for (int64_t rank = 0; rank < MIN_OF(m->world, (int64_t)RANKS_READ); rank++) {
        snprintf(path, sizeof path, "%s%lld", prefix, (long long)rank);
        int fd = open_own(r, w, path, &st);
        if (fd >= 0) {
            stamp = (int64_t)((uint64_t)stamp * 31 + (uint64_t)stamp_of(&st)); /* wraps around */
            close(fd);
        }
    }
    if (is_answered(r, w, prefix, stamp) || !(list = calloc(RANKS_READ, sizeof *list)))
        return;
    for (int64_t rank = 0; rank < MIN_OF(m->world, (int64_t)RANKS_READ); rank++) {
        AUTO_FREE char *text = NULL;
        snprintf(path, sizeof path, "%s%lld", prefix, (long long)rank);
        AUTO_CLOSE int fd = open_own(r, w, path, &st);
        list[count].rank = rank;
        if (fd >= 0 && flight_parse(read_end(fd, &st, FLIGHT_MAX, false, &text), &list[count]) == 0)
            count++;
    }
    flight_judge(list, count, m->world, &m->told);
    r->traces.told = m->told;
}

static void look_at_inspector(struct evidence_reader *r, struct evidence_memory *w)
{
    struct trace_memory *m = &w->traces;
    AUTO_DIR DIR *folder = m->inspector[0] ? dir_open(r->env, m->inspector) : NULL;
    AUTO_FREE struct inspected *list = folder ? calloc(RANKS_READ, INSPECTED_MAX * sizeof *list) : NULL;
    size_t count = 0;
    int files = 0;
    const struct dirent *e;
    for (int i = 0; list && i < NAMES_SEEN && files < RANKS_READ && (e = readdir(folder)); i++) {
        char path[PATH_SIZE];
        struct stat st;
        AUTO_FREE char *text = NULL;
        if (!strstr(e->d_name, "-pid") || !str_ends(str_from(e->d_name), ".log") ||
            snprintf(path, sizeof path, "%s/%s", m->inspector, e->d_name) >= (int)sizeof path)
            continue;
        AUTO_CLOSE int fd = open_own(r, w, path, &st);
        if (fd < 0)
            continue;
        files++;
        count += inspector_parse(read_end(fd, &st, TAIL_MAX, true, &text), &list[count]);
    }
    inspector_judge(list, count, &m->told);
}

void traces_look(struct evidence_reader *r, struct evidence_memory *w)
{
    struct trace_memory *m = &w->traces;
    if (m->at.ns && mono_since_ms(r->now, m->at) < AGAIN_MS)
        return;
    if (r->share_left < EXPENSIVE || (m->is_known && m->world < 2))
        return;
    r->share_left -= EXPENSIVE;
    m->at = r->now;
    if (!m->is_known)
        learn(r, w);
    m->told = (struct collective_told){.late_rank = -1};
    for (size_t i = 0; i < ARRAY_LEN(m->flight) && m->world > 1 && !m->told.text[0]; i++)
        look_at_flight(r, w, m->flight[i]);
    if (m->world > 1 && !m->told.text[0])
        look_at_inspector(r, w);
}

void traces_write(const struct trace_memory *m, struct host_evidence *ret)
{
    const struct collective_told *t = &m->told;
    bool any = m->at.ns && t->text[0];
    ret->late_rank = any && t->late_rank >= 0 ? reading_ok(t->late_rank) : reading_absent(READING_UNSUPPORTED);
    ret->collective_bytes_per_s = m->at.ns && t->bytes_per_s ? reading_ok(t->bytes_per_s) : reading_absent(READING_UNSUPPORTED);
    ret->collective_best_per_s = m->at.ns && t->best_per_s ? reading_ok(t->best_per_s) : reading_absent(READING_UNSUPPORTED);
    str_copy(ret->collective, sizeof ret->collective, str_from(any ? t->text : ""));
}
