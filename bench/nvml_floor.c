/* SPDX-License-Identifier: Apache-2.0
 * The floor: a bare loop that makes the NVML calls of a fast + process sample of the first GPU, and nothing else. Prints the CPU
 * time of one. whirr's own sampling is measured against it (bench/sampling).
 *
 *   cc -O2 -Isrc bench/nvml_floor.c -o nvml_floor -ldl && ./nvml_floor [SAMPLES] [INTERVAL_MS]
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "source/nvml/abi.h"

static struct {
#define CALL(slot, parameters, ...) int(*slot) parameters;
#include "source/nvml/calls.def"
#undef CALL
} nvml;

static const struct {
    void *slot;
    const char *names[2];
} calls[] = {
#define CALL(slot, parameters, ...) {(void *)&nvml.slot, {__VA_ARGS__}},
#include "source/nvml/calls.def"
#undef CALL
};

static const unsigned char gpm_ids[] = {1, 2, 3, 4, 5, 10, 11, 12, 13, 20, 21, 60, 61};
static nvml_gpm_sample samples[2];
static struct nvml_gpm_request request;
static unsigned long long last_seen;
static nvml_device gpu;
static int has_gpm, has_jpeg, has_ofa, has_fans;

static double cpu_ms(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1e3 + (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1e-3;
}

static void gpm_step(int i)
{
    nvml.gpm_sample(gpu, samples[i & 1]);
    if (i == 0)
        return;
    request.version = 1;
    request.count = sizeof gpm_ids;
    request.before = samples[(i & 1) ^ 1];
    request.after = samples[i & 1];
    for (unsigned k = 0; k < sizeof gpm_ids; k++)
        request.metrics[k].id = gpm_ids[k];
    nvml.gpm_metrics(&request);
}

static unsigned list_processes(void)
{
    static char entries[256 * sizeof(struct nvml_process_v3_odd)];
    int (*lists[])(nvml_device, unsigned *, void *) = {nvml.compute_v3 ? nvml.compute_v3 : nvml.compute_v2,
                                                       nvml.graphics_v3 ? nvml.graphics_v3 : nvml.graphics_v2,
                                                       nvml.mps_v3 ? nvml.mps_v3 : nvml.mps_v2};
    unsigned all = 0;
    for (int i = 0; i < 3; i++) {
        unsigned count = 256;
        if (lists[i] && lists[i](gpu, &count, entries) == NVML_OK)
            all += count;
    }
    return all;
}

static void utilization_of_processes(void)
{
    static struct nvml_process_utilization rows[256];
    unsigned count = 256;
    if (nvml.process_utilization(gpu, rows, &count, last_seen) == NVML_OK)
        for (unsigned i = 0; i < count; i++)
            last_seen = rows[i].timestamp > last_seen ? rows[i].timestamp : last_seen;
}

static void sample(int i)
{
    unsigned u, period;
    unsigned long long bits;
    struct nvml_utilization load;
    struct nvml_memory_v2 memory_now = {.version = NVML_VERSION(struct nvml_memory_v2, 2)};
    struct nvml_field_value memory_temp = {.field = NVML_FIELD_MEMORY_TEMP};
    nvml.utilization(gpu, &load);
    nvml.encoder(gpu, &u, &period);
    nvml.decoder(gpu, &u, &period);
    if (has_jpeg)
        nvml.jpeg(gpu, &u, &period);
    if (has_ofa)
        nvml.ofa(gpu, &u, &period);
    nvml.memory_v2(gpu, &memory_now);
    nvml.temperature(gpu, 0, &u);
    for (int f = 0; f < has_fans; f++)
        nvml.fan_speed(gpu, (unsigned)f, &u);
    nvml.power(gpu, &u);
    nvml.power_limit(gpu, &u);
    nvml.pstate(gpu, &u);
    for (int k = 0; k < 4; k++)
        nvml.clock(gpu, k, &u);
    nvml.throttle(gpu, &bits);
    if (has_gpm)
        gpm_step(i);
    nvml.fields(gpu, 1, &memory_temp);
    if (list_processes())
        utilization_of_processes();
}

static void probe(void)
{
    unsigned u = 0, period;
    struct nvml_gpm_support support = {.version = 1};
    has_jpeg = nvml.jpeg && nvml.jpeg(gpu, &u, &period) == NVML_OK;
    has_ofa = nvml.ofa && nvml.ofa(gpu, &u, &period) == NVML_OK;
    has_fans = nvml.fan_count && nvml.fan_count(gpu, &u) == NVML_OK ? (int)u : 0;
    has_gpm = nvml.gpm_support && nvml.gpm_support(gpu, &support) == NVML_OK && support.supported &&
              nvml.gpm_alloc(&samples[0]) == NVML_OK && nvml.gpm_alloc(&samples[1]) == NVML_OK;
}

int main(int argc, char **argv)
{
    int count = argc > 1 ? atoi(argv[1]) : 20, interval_ms = argc > 2 ? atoi(argv[2]) : 1000;
    const char *file = getenv("WHIRR_NVML_LIBRARY");
    void *library = dlopen(file ? file : "libnvidia-ml.so.1", RTLD_NOW);
    if (!library) {
        fprintf(stderr, "%s\n", dlerror());
        return 77;
    }
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        void *found = NULL;
        for (int n = 0; n < 2 && calls[i].names[n] && !found; n++)
            found = dlsym(library, calls[i].names[n]);
        memcpy(calls[i].slot, &found, sizeof found);
    }
    if (nvml.init() != NVML_OK || nvml.by_index(0, &gpu) != NVML_OK) {
        fprintf(stderr, "NVML does not start\n");
        return 77;
    }
    probe();
    sample(0);
    double before = cpu_ms();
    const struct timespec pause = {interval_ms / 1000, interval_ms % 1000 * 1000000L};
    for (int i = 1; i <= count; i++) {
        nanosleep(&pause, NULL);
        sample(i);
    }
    printf("%.3f\n", (cpu_ms() - before) / count); /* ms of CPU time a sample */
    return 0;
}
