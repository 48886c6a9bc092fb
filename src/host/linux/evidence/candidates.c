/* SPDX-License-Identifier: Apache-2.0
 * Guesses which processes use a GPU before its driver answers.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "host/linux/evidence/internal.h"
#include "host/linux/process_files.h"

enum { PROCESSES_MAX = 4096, CANDIDATES_MAX = 96 };

/* A program that uses a GPU reserves gigabytes of address space. */
#define GPU_VSIZE_LEAST ((uint64_t)1 << 30)

struct large_process {
    struct evidence_target target;
    uint64_t vsize_bytes;
};

static int by_size(const void *a, const void *b)
{
    uint64_t x = ((const struct large_process *)a)->vsize_bytes, y = ((const struct large_process *)b)->vsize_bytes;
    return x > y ? -1 : x < y;
}

size_t evidence_candidates(struct evidence_reader *r, struct evidence_target *ret, size_t max)
{
    AUTO_FREE struct large_process *list = calloc(PROCESSES_MAX, sizeof *list);
    AUTO_DIR DIR *dir = dir_open(r->env, "/proc");
    size_t count = 0;
    const struct dirent *e;
    open_proc(r);
    while (list && dir && r->proc >= 0 && count < PROCESSES_MAX && (e = readdir(dir))) {
        char name[300], text[1024];
        int64_t pid;
        struct proc_stat stat;
        if (!str_to_i64(str_from(e->d_name), &pid) || pid <= 0 || pid > INT32_MAX)
            continue;
        snprintf(name, sizeof name, "%s/stat", e->d_name);
        ssize_t n = file_read_at(r->proc, name, text, sizeof text);
        if (n > 0 && proc_stat_parse((struct str){text, (size_t)n}, &stat) && stat.vsize_bytes >= GPU_VSIZE_LEAST)
            list[count++] = (struct large_process){{(int32_t)pid, stat.start_ticks}, stat.vsize_bytes};
    }
    if (count)
        qsort(list, count, sizeof *list, by_size);
    size_t found = 0;
    for (size_t i = 0; i < MIN_OF(count, (size_t)CANDIDATES_MAX) && found < max; i++)
        if (process_holds_gpu(r->env, list[i].target.pid) > 0)
            ret[found++] = list[i].target;
    return found;
}
