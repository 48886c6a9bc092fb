/* SPDX-License-Identifier: Apache-2.0
 * What it costs at the start that a driver, its library or its program is not there: each source that is tried by itself is opened
 * on this host, and the dearest of those that find nothing counts. A median of many, since every start asks once.
 *
 * usage: bench_missing [TIMES]
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "figure.h"
#include "source/source.h"

enum { TIMES = 50, TIMES_MAX = 10000 };

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* The median in ms; below 0: it is there. */
static double cost_ms(const struct env *env, const struct source_ops *ops, int times)
{
    static double all[TIMES_MAX];
    for (int i = 0; i < times; i++) {
        struct source *source = NULL;
        struct error err = {0};
        struct mono start = clock_mono(&clock_system);
        int rc = ops->open(env, "", &source, &err);
        all[i] = (double)(clock_mono(&clock_system).ns - start.ns) / NS_PER_MS;
        if (rc == 0) {
            ops->close(source);
            return -1;
        }
    }
    qsort(all, (size_t)times, sizeof all[0], by_size);
    return all[times / 2];
}

int main(int argc, char **argv)
{
    int times = argc > 1 ? atoi(argv[1]) : TIMES;
    if (times < 1 || times > TIMES_MAX) {
        fprintf(stderr, "usage: bench_missing [TIMES]\n");
        return 2;
    }
    struct env env;
    double most = 0, sum = 0;
    env_init_system(&env);
    for (size_t i = 0; i < source_registry_count; i++) {
        if (!source_registry[i]->automatic)
            continue;
        double ms = cost_ms(&env, source_registry[i], times);
        printf("%-12s %s", source_registry[i]->name, ms < 0 ? "is there, not counted\n" : "");
        if (ms < 0)
            continue;
        printf("%8.4f ms\n", ms);
        most = MAX_OF(most, ms);
        sum += ms;
    }
    printf("all of them  %8.4f ms, one after the other; at a start they are asked at once\n", sum);
    return !figure("a driver, library or program that is missing, at the start", most, "ms", false, 1, "");
}
