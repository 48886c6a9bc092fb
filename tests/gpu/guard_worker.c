/* SPDX-License-Identifier: Apache-2.0
 * A plain CUDA program (driver API, no toolkit needed) for the guard's tests on a real card.
 *
 *   guard_worker work MIB LOG       holds MIB of patterned memory, changes a part of it step by step, checks it against a copy in
 *                                   host memory at each step; SIGTERM: checks everything and exits 0 when every byte is right
 *   guard_worker hold MIB LOG       holds MIB that the card itself has filled (quick, for sizes of many GiB) and does nothing;
 * SIGTERM: checks the beginning of each chunk guard_worker claim MIB SECONDS  opens a context, tries to get MIB until it has them,
 * holds them so long
 *
 * Lines of LOG (or stdout): "ready", "step N", "bad ...", "allocated SECONDS", "verified".
 */
#include <dlfcn.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

typedef unsigned long long device_ptr;

static int (*init)(unsigned);
static int (*device_get)(int *, int);
static int (*retain)(void **, int);
static int (*set_current)(void *);
static int (*alloc)(device_ptr *, size_t);
static int (*to_device)(device_ptr, const void *, size_t);
static int (*to_host)(void *, device_ptr, size_t);
static int (*fill)(device_ptr, unsigned, size_t);
static int (*synchronize)(void);

enum { CHUNK = 64 << 20, WORDS = CHUNK / 4 };

static volatile sig_atomic_t ending;
static FILE *out;

static void on_term(int number)
{
    (void)number;
    ending = 1;
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void say(const char *what, long number)
{
    fprintf(out, "%s %ld\n", what, number);
    fflush(out);
}

static void must(int code, const char *what)
{
    if (code == 0)
        return;
    say(what, code);
    exit(3);
}

static void load(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    if (!library) {
        fprintf(stderr, "%s\n", dlerror());
        exit(77);
    }
    *(void **)&init = dlsym(library, "cuInit");
    *(void **)&device_get = dlsym(library, "cuDeviceGet");
    *(void **)&retain = dlsym(library, "cuDevicePrimaryCtxRetain");
    *(void **)&set_current = dlsym(library, "cuCtxSetCurrent");
    *(void **)&alloc = dlsym(library, "cuMemAlloc_v2");
    *(void **)&to_device = dlsym(library, "cuMemcpyHtoD_v2");
    *(void **)&to_host = dlsym(library, "cuMemcpyDtoH_v2");
    *(void **)&fill = dlsym(library, "cuMemsetD32_v2");
    *(void **)&synchronize = dlsym(library, "cuCtxSynchronize");
    int device;
    void *context;
    must(init(0), "bad init");
    must(device_get(&device, 0), "bad device");
    must(retain(&context, device), "bad context");
    must(set_current(context), "bad context");
}

static uint32_t pattern(uint64_t i)
{
    i = (i + 0x9e3779b97f4a7c15ULL) * 0xbf58476d1ce4e5b9ULL;
    return (uint32_t)(i >> 29);
}

static void make(uint32_t *words, long chunk)
{
    for (uint64_t i = 0; i < WORDS; i++)
        words[i] = pattern((uint64_t)chunk * WORDS + i);
}

static int work(long mib)
{
    long chunks = mib * (1 << 20) / CHUNK;
    device_ptr *memory = calloc((size_t)chunks, sizeof *memory);
    uint32_t *mirror = malloc(CHUNK), *read = malloc(CHUNK), *fresh = malloc(CHUNK);
    load();
    for (long c = 0; c < chunks; c++) {
        make(fresh, c);
        must(alloc(&memory[c], CHUNK), "bad alloc");
        must(to_device(memory[c], fresh, CHUNK), "bad copy");
    }
    make(mirror, 0); /* the first chunk changes */
    signal(SIGTERM, on_term);
    say("ready", chunks);
    for (long step = 1; !ending; step++) {
        size_t at = (size_t)pattern((uint64_t)step) % (WORDS - 4096);
        must(fill(memory[0] + at * 4, (unsigned)step, 4096), "bad fill");
        for (size_t i = 0; i < 4096; i++)
            mirror[at + i] = (uint32_t)step;
        must(synchronize(), "bad synchronize");
        must(to_host(read, memory[0], CHUNK), "bad read");
        if (memcmp(read, mirror, CHUNK) != 0) {
            say("bad content at step", step);
            return 1;
        }
        say("step", step);
        usleep(100000);
    }
    for (long c = 1; c < chunks; c++) {
        make(fresh, c);
        must(to_host(read, memory[c], CHUNK), "bad read");
        if (memcmp(read, fresh, CHUNK) != 0) {
            say("bad content of chunk", c);
            return 1;
        }
    }
    say("verified", chunks);
    return 0;
}

static int hold(long mib)
{
    enum { LOOKED_AT = 4096 };
    long chunks = mib * (1 << 20) / CHUNK;
    device_ptr *memory = calloc((size_t)chunks, sizeof *memory);
    uint32_t read[LOOKED_AT];
    load();
    for (long c = 0; c < chunks; c++) {
        must(alloc(&memory[c], CHUNK), "bad alloc");
        must(fill(memory[c], pattern((uint64_t)c), WORDS), "bad fill");
    }
    must(synchronize(), "bad synchronize");
    signal(SIGTERM, on_term);
    say("ready", chunks);
    while (!ending)
        usleep(100000);
    for (long c = 0; c < chunks; c++) {
        must(to_host(read, memory[c], sizeof read), "bad read");
        for (size_t i = 0; i < LOOKED_AT; i++)
            if (read[i] != pattern((uint64_t)c)) {
                say("bad content of chunk", c);
                return 1;
            }
    }
    say("verified", chunks);
    return 0;
}

static int claim(long mib, long seconds)
{
    double begin = now();
    device_ptr memory;
    load();
    fprintf(out, "context %.2f\n", now() - begin);
    fflush(out);
    while (alloc(&memory, (size_t)mib << 20) != 0) {
        if (now() - begin > 150) {
            say("bad: never got memory", mib);
            return 1;
        }
        usleep(20000);
    }
    fprintf(out, "allocated %.2f\n", now() - begin);
    fflush(out);
    signal(SIGTERM, on_term);
    for (double until = now() + (double)seconds; now() < until && !ending;) {
        must(fill(memory, 1, 4096), "bad fill");
        must(synchronize(), "bad synchronize");
        usleep(50000);
    }
    return 0;
}

int main(int argc, char **argv)
{
    if (argc < 4)
        return 2;
    out = stdout;
    bool works = strcmp(argv[1], "work") == 0;
    if (works || strcmp(argv[1], "hold") == 0) {
        out = fopen(argv[3], "w");
        return !out ? 2 : works ? work(atol(argv[2])) : hold(atol(argv[2]));
    }
    return claim(atol(argv[2]), atol(argv[3]));
}
