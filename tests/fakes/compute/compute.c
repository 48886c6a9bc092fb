/* SPDX-License-Identifier: Apache-2.0
 * A fake libcuda.so.1 that computes: memory is the host's, kernels are the C of src/check/kernels.h, and the time that they take is
 * modelled, with noise, so that what is judged does not depend on this machine. Faults come from WHIRR_FAKE_COMPUTE (see
 * README.md).
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#include "check/kernels.h"

#define EXPORT __attribute__((visibility("default")))

enum { OK = 0, INVALID = 1, OUT_OF_MEMORY = 2, NO_DEVICE = 100, IN_USE = 46, NOT_FOUND = 500, NOT_READY = 600, GPU_LOST = 719 };
enum { PIECE_MOST = 4 << 20, PROCESSORS = 4, ALLOCATIONS = 64 };
#define MEGA 1e6

/* Of the healthy GPU: 0.1 GB/s in theory, 4 MHz, PCIe 1.0 x4. Slow, so that little is computed in a second of its time. */
static double theory_bytes = 0.1e9, theory_flops = PROCESSORS * 256.0 * 4e6, theory_link = 0.985e9;

static struct {
    char kind[32];
    double at_ms, factor;
    uint64_t word, other;
    unsigned bit, step, lane, round, gpu, processor;
    bool done;
} fault;

static struct allocation {
    unsigned char *at;
    size_t bytes;
} allocations[ALLOCATIONS];
static size_t used_bytes;
static double now_ms, event_ms[2];
static bool never_done;
static uint64_t noise_state;
static int device_count = 1;
static char uuids[16][48] = {"GPU-00000000-0000-0000-0000-000000000000"};
static char addresses[16][16] = {"0000:01:00.0"};
static int created;

static double number(const char *text, const char *key, double otherwise)
{
    char name[40];
    snprintf(name, sizeof name, ",%s=", key);
    const char *at = text ? strstr(text, name) : NULL;
    return at ? strtod(at + strlen(name), NULL) : otherwise;
}

static bool is(const char *kind)
{
    return strcmp(fault.kind, kind) == 0;
}

/* ",GPU-UUID@PCI,..." in WHIRR_FAKE_COMPUTE_GPUS */
static void read_gpus(void)
{
    const char *list = getenv("WHIRR_FAKE_COMPUTE_GPUS");
    for (device_count = list ? 0 : 1; list && *list && device_count < 16; device_count++) {
        sscanf(list, "%47[^@]@%15[^,]", uuids[device_count], addresses[device_count]);
        list += strcspn(list, ",");
        list += *list == ',';
    }
}

EXPORT int cuInit(unsigned flags)
{
    (void)flags;
    const char *text = getenv("WHIRR_FAKE_COMPUTE");
    memset(&fault, 0, sizeof fault);
    if (text)
        sscanf(text, "%31[^,]", fault.kind);
    fault.at_ms = number(text, "at", 0);
    fault.factor = number(text, "factor", 1);
    fault.word = (uint64_t)number(text, "word", 12345);
    fault.other = (uint64_t)number(text, "other", 54321);
    fault.bit = (unsigned)number(text, "bit", 5);
    fault.step = (unsigned)number(text, "step", 100);
    fault.lane = (unsigned)number(text, "lane", 17);
    fault.round = (unsigned)number(text, "round", 3);
    fault.processor = (unsigned)number(text, "processor", 2);
    fault.gpu = (unsigned)number(text, "gpu", 0);
    noise_state = (uint64_t)number(text, "noise", 1) * 2654435761u + 88172645463325252u;
    now_ms = 0;
    never_done = false;
    used_bytes = 0;
    read_gpus();
    if (is("no_device"))
        return NO_DEVICE;
    return OK;
}

EXPORT int cuDriverGetVersion(int *version)
{
    *version = 13000;
    return OK;
}
EXPORT int cuDeviceGetCount(int *count)
{
    *count = device_count;
    return OK;
}
EXPORT int cuDeviceGet(int *device, int at)
{
    *device = at;
    return OK;
}
EXPORT int cuDeviceGetName(char *name, int size, int device)
{
    (void)device;
    snprintf(name, (size_t)size, "Fake GPU");
    return OK;
}

static int parse_uuid(unsigned char *bytes, int device)
{
    const char *text = uuids[device] + 4;
    for (int i = 0; i < 16; i++) {
        unsigned byte = 0;
        text += *text == '-';
        sscanf(text, "%2x", &byte);
        bytes[i] = (unsigned char)byte;
        text += 2;
    }
    return OK;
}
EXPORT int cuDeviceGetUuid(unsigned char *bytes, int device)
{
    return parse_uuid(bytes, device);
}
EXPORT int cuDeviceGetUuid_v2(unsigned char *bytes, int device)
{
    parse_uuid(bytes, device);
    bytes[0] ^= is("mig");
    return OK;
}
EXPORT int cuDeviceGetPCIBusId(char *text, int size, int device)
{
    snprintf(text, (size_t)size, "%s", addresses[device]);
    return OK;
}

EXPORT int cuDeviceGetAttribute(int *value, int which, int device)
{
    (void)device;
    *value = which == 13   ? 4000
             : which == 16 ? PROCESSORS
             : which == 18 ? 0
             : which == 36 ? 50000
             : which == 37 ? 8
             : which == 75 ? 8
             : which == 76 ? 6
                           : 0;
    return OK;
}

static size_t total_bytes(void)
{
    return 12u << 20;
}
EXPORT int cuDeviceTotalMem_v2(size_t *bytes, int device)
{
    (void)device;
    *bytes = total_bytes();
    return OK;
}
EXPORT int cuCtxCreate_v2(void **context, unsigned flags, int device)
{
    (void)flags;
    created = device;
    if ((unsigned)device != fault.gpu)
        fault.kind[0] = '\0'; /* another GPU has it */
    *context = &created;
    if (is("crash_at_once"))
        abort();
    return is("exclusive") ? IN_USE : OK;
}
EXPORT int cuCtxDestroy_v2(void *context)
{
    (void)context;
    for (size_t i = 0; i < ALLOCATIONS; i++) {
        free(allocations[i].at);
        allocations[i].at = NULL;
    }
    used_bytes = 0;
    return OK;
}
EXPORT int cuMemGetInfo_v2(size_t *room, size_t *total)
{
    *total = is("full") ? total_bytes() : total_bytes();
    size_t others = is("full") ? total_bytes() - (512u << 10) : is("half_taken") ? total_bytes() / 2 : 0;
    others = is("others_grow") && now_ms > fault.at_ms ? total_bytes() - used_bytes : others;
    *room = *total > used_bytes + others ? *total - used_bytes - others : 0;
    return OK;
}
EXPORT int cuMemAlloc_v2(uint64_t *ret, size_t bytes)
{
    if (bytes > PIECE_MOST || used_bytes + bytes > total_bytes() || (is("no_memory") && used_bytes + bytes > (size_t)fault.factor))
        return OUT_OF_MEMORY;
    for (size_t i = 0; i < ALLOCATIONS; i++) {
        if (allocations[i].at)
            continue;
        allocations[i] = (struct allocation){aligned_alloc(4096, (bytes + 4095) & ~(size_t)4095), bytes};
        memset(allocations[i].at, 0xa7, bytes);
        used_bytes += bytes;
        *ret = (uint64_t)(uintptr_t)allocations[i].at;
        return OK;
    }
    return OUT_OF_MEMORY;
}
EXPORT int cuMemFree_v2(uint64_t at)
{
    for (size_t i = 0; i < ALLOCATIONS; i++)
        if ((uint64_t)(uintptr_t)allocations[i].at == at && at) {
            used_bytes -= allocations[i].bytes;
            free(allocations[i].at);
            allocations[i].at = NULL;
        }
    return OK;
}
EXPORT int cuMemAllocHost_v2(void **at, size_t bytes)
{
    *at = malloc(bytes);
    return *at ? OK : OUT_OF_MEMORY;
}
EXPORT int cuMemFreeHost(void *at)
{
    free(at);
    return OK;
}

static int state(void)
{
    if (is("lost") && now_ms >= fault.at_ms)
        return GPU_LOST;
    if (is("call_hangs") && now_ms >= fault.at_ms)
        for (;;)
            pause();
    if (is("crash") && now_ms >= fault.at_ms)
        abort();
    return OK;
}

EXPORT int cuMemcpyHtoD_v2(uint64_t to, const void *from, size_t bytes)
{
    memcpy((void *)(uintptr_t)to, from, bytes);
    return state();
}
EXPORT int cuMemcpyDtoH_v2(void *to, uint64_t from, size_t bytes)
{
    memcpy(to, (void *)(uintptr_t)from, bytes);
    return state();
}

static double noise(void)
{
    double sum = 0;
    for (int i = 0; i < 4; i++) {
        noise_state ^= noise_state << 13, noise_state ^= noise_state >> 7, noise_state ^= noise_state << 17;
        sum += (double)(noise_state >> 11) / 9007199254740992.0 - 0.5;
    }
    return 1 + 0.02 * sum; /* +-4 % at most, 1.2 % as a rule */
}

static void pass(double ms)
{
    now_ms += ms * noise() * (is("droop") && now_ms > fault.at_ms && (int)(now_ms / 500) % 2 ? 1 / fault.factor : 1) *
              (is("all_slow") ? 1 / fault.factor : 1);
    if (is("hang") && now_ms >= fault.at_ms)
        never_done = true;
}

static void link_fault(unsigned char *at, size_t bytes)
{
    if (is("link_bit") && !fault.done && now_ms >= fault.at_ms) {
        at[fault.word * 4 % bytes] ^= (unsigned char)(1u << (fault.bit & 7));
        fault.done = true;
    }
}
static double link_ms(size_t bytes)
{
    return (double)bytes / (theory_link * 0.86 * (is("link_slow") ? fault.factor : 1)) * 1e3;
}
EXPORT int cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t bytes, void *stream)
{
    (void)stream;
    memcpy((void *)(uintptr_t)to, from, bytes);
    link_fault((unsigned char *)(uintptr_t)to, bytes);
    pass(link_ms(bytes));
    return state();
}
EXPORT int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t bytes, void *stream)
{
    (void)stream;
    memcpy(to, (void *)(uintptr_t)from, bytes);
    pass(link_ms(bytes));
    return state();
}

static char module;
EXPORT int cuModuleLoadData(void **ret, const void *image)
{
    *ret = &module;
    return strncmp(image, ".version", 8) == 0 ? OK : INVALID;
}

static const char *const names[] = {"memory_write", "memory_verify", "stream_read",   "stream_write", "stream_copy",
                                    "chain_write",  "chain_follow",  "answer_floats", "answer_whole", "answer_tensor"};
enum { WRITE, VERIFY, STREAM_READ, STREAM_WRITE, STREAM_COPY, CHAIN_WRITE, CHAIN_FOLLOW, FLOATS, WHOLE, TENSOR, NAMES };
EXPORT int cuModuleGetFunction(void **ret, void *in, const char *name)
{
    (void)in;
    for (size_t i = 0; i < NAMES; i++)
        if (strcmp(names[i], name) == 0) {
            *ret = (void *)(uintptr_t)(i + 1);
            return OK;
        }
    return NOT_FOUND;
}

#define U32(n) (*(uint32_t *)arguments[n])
#define U64(n) (*(uint64_t *)arguments[n])
#define PTR(n) ((void *)(uintptr_t)U64(n))

/* The word of the GPU's memory with this number, if it is in these 16 byte pieces. */
static uint32_t *word_in(void **arguments, uint64_t word)
{
    uint64_t first = U64(3) + U64(1) * 4, count = U64(2) * 4;
    return word >= first && word < first + count ? (uint32_t *)PTR(0) + (word - U64(3)) : NULL;
}

static void spoil_memory(void **arguments)
{
    uint32_t *at = word_in(arguments, fault.word), bit = 1u << (fault.bit & 31);
    if (is("all_dead"))
        memset((unsigned char *)PTR(0) + U64(1) * 16, 0, U64(2) * 16);
    if (is("stuck0") && at)
        *at &= ~bit;
    if (is("stuck1") && at)
        *at |= bit;
    if (is("flip") && at && !fault.done && now_ms >= fault.at_ms) {
        *at ^= bit;
        fault.done = true;
    }
    if (is("row") && at)
        for (int i = 0; i < 64 && word_in(arguments, fault.word + (uint64_t)i); i++)
            at[i] ^= bit;
    /* A cell that a write to another one changes, too */
    static uint32_t seen;
    if (is("coupling") && at)
        seen = *at;
    if (is("coupling") && (at || now_ms > 0) && (at = word_in(arguments, fault.other)))
        *at = seen;
}

static uint32_t floats_with_flip(uint32_t start, uint32_t fold)
{
    uint32_t h = mix(start), folded = 0;
    float x = (float)(h & 0xffffu) * 0.0000152587890625f - 0.5f, z = 1.4f + 0.0000046f * (float)(h >> 16 & 0xffffu);
    for (uint32_t i = 0; i < STEPS; i++) {
        float next = fmaf(-x, x, z);
        z = fmaf(0.3f, x, 1.4f);
        x = next;
        if (i == fault.step) {
            uint32_t bits = BITS(x) ^ 1u << (fault.bit & 31);
            memcpy(&x, &bits, 4);
        }
        folded = (folded << 1 | folded >> 31) ^ BITS(x);
    }
    return (fold ? folded : 0) ^ BITS(x) ^ (BITS(z) << 7 | BITS(z) >> 25);
}

/* All groups give the same answers: one is computed, and the one that has the fault. */
static void answers(unsigned kind, unsigned groups, unsigned lanes, void **arguments)
{
    static uint32_t cache[2][ROUNDS * 1024], known_seed[2], known_fold;
    static bool known[2];
    bool tensor = kind == TENSOR, floats = kind == FLOATS;
    uint32_t seed = tensor ? 0 : U32(4), fold = tensor ? 0 : U32(5);
    unsigned k = kind == WHOLE;
    if (!tensor && (!known[k] || known_seed[k] != seed || (floats && known_fold != fold))) {
        for (uint32_t i = 0; i < ROUNDS * lanes; i++)
            cache[k][i] = floats ? map_floats(seed + i, fold) : map_whole(seed + i);
        known[k] = true;
        known_seed[k] = seed;
        known_fold = floats ? fold : known_fold;
    }
    bool strikes = now_ms >= fault.at_ms &&
                   ((floats && (is("fma") || is("fma_once"))) || (kind == WHOLE && is("whole")) || (tensor && is("tensor")));
    if (is("fma_once") && fault.done)
        strikes = false;
    kernel_lsize = lanes;
    kernel_gsize = groups * lanes;
    if (tensor) {
        uint32_t *found = PTR(3);
        for (kernel_lid = 0; kernel_lid < 32; kernel_lid++) {
            kernel_gid = kernel_lid;
            answer_tensor(PTR(0), U32(1), U32(2), found);
        }
        if (strikes) {
            uint32_t at = (fault.step % PRODUCTS * 32 + fault.lane % 32) * 4 + fault.round % 4;
            float right = ((const float *)PTR(0))[at] * (float)U32(1);
            note(found, (uint64_t)fault.processor << 32 | at, BITS(right), BITS(right) ^ 1u << (fault.bit & 31));
        }
        return;
    }
    const uint32_t *golden = PTR(0);
    uint32_t *found = PTR(6);
    for (uint32_t r = U32(2); r < U32(2) + U32(3); r++)
        for (uint32_t lane = 0; lane < lanes; lane++) {
            uint32_t at = r % ROUNDS * lanes + lane, got = cache[k][at];
            if (got != golden[at])
                note(found, at, golden[at], got);
            if (!strikes || r % ROUNDS != fault.round % ROUNDS || lane != fault.lane % lanes)
                continue;
            got = floats ? floats_with_flip(seed + at, fold) : got ^ 1u << (fault.bit & 31);
            if (got != golden[at])
                note(found, (uint64_t)fault.processor << 32 | at, golden[at], got);
            fault.done = true;
        }
}

EXPORT int cuLaunchKernel(void *function, unsigned groups, unsigned y, unsigned z, unsigned lanes, unsigned ly, unsigned lz,
                          unsigned shared, void *stream, void **arguments, void **extra)
{
    (void)y, (void)z, (void)ly, (void)lz, (void)shared, (void)stream, (void)extra;
    unsigned kind = (unsigned)(uintptr_t)function - 1;
    double memory = theory_bytes * (is("memory_slow") ? fault.factor : 1),
           compute = theory_flops * (is("compute_slow") ? fault.factor : 1);
    double threads = (double)groups * lanes;
    kernel_gid = kernel_lid = 0;
    kernel_gsize = kernel_lsize = 1;
    switch (kind) {
    case WRITE:
        memory_write(PTR(0), U64(1), U64(2), U64(3), U32(4), U32(5), U32(6));
        spoil_memory(arguments);
        pass((double)U64(2) * 16 / (memory * 0.88) * 1e3);
        break;
    case VERIFY: {
        uint32_t *at = word_in(arguments, fault.word), kept = at ? *at : 0;
        bool reads_wrong = is("read_flip") && at && !fault.done && now_ms >= fault.at_ms;
        if (reads_wrong)
            *at ^= 1u << (fault.bit & 31);
        memory_verify(PTR(0), U64(1), U64(2), U64(3), U32(4), U32(5), U32(6), U32(7), U32(8), PTR(9));
        if (reads_wrong) {
            fault.done = true;
            if (!U32(7))
                *at = kept;
        }
        if (U32(7))
            spoil_memory(arguments);
        pass((double)U64(2) * 16 * (U32(7) ? 2 : 1) / (memory * 0.85) * 1e3);
        break;
    }
    case STREAM_READ: pass((double)U64(1) * 16 / (memory * 0.93) * 1e3); break;
    case STREAM_WRITE: pass((double)U64(1) * 16 / (memory * 0.88) * 1e3); break;
    case STREAM_COPY: pass((double)U64(2) * 32 / (memory * 0.83) * 1e3); break;
    case CHAIN_WRITE:
        chain_write(PTR(0), U32(1));
        pass(1);
        break;
    case CHAIN_FOLLOW:
        chain_follow(PTR(0), U32(1), PTR(2));
        pass((double)U32(1) * 146e-6);
        break;
    case FLOATS:
    case WHOLE:
        answers(kind, groups, lanes, arguments);
        pass(threads * U32(3) * 4 * STEPS / (compute * (kind == FLOATS ? 0.9 : 0.55)) * 1e3);
        break;
    case TENSOR:
        answers(kind, groups, lanes, arguments);
        pass(threads / 32 * U32(1) * PRODUCTS * 4096 / (compute * 7) * 1e3);
        break;
    default: return INVALID;
    }
    return state();
}

EXPORT int cuEventCreate(void **event, unsigned flags)
{
    static int next;
    (void)flags;
    *event = &event_ms[next++ % 2];
    return OK;
}
EXPORT int cuEventRecord(void *event, void *stream)
{
    (void)stream;
    *(double *)event = now_ms;
    return state();
}
EXPORT int cuEventQuery(void *event)
{
    (void)event;
    return never_done ? NOT_READY : state();
}
EXPORT int cuEventElapsedTime(float *ms, void *from, void *to)
{
    *ms = (float)(*(double *)to - *(double *)from);
    return OK;
}
EXPORT int cuGetErrorName(int code, const char **name)
{
    *name = code == OUT_OF_MEMORY ? "CUDA_ERROR_OUT_OF_MEMORY"
            : code == IN_USE      ? "CUDA_ERROR_DEVICE_UNAVAILABLE"
            : code == GPU_LOST    ? "CUDA_ERROR_LAUNCH_FAILED"
            : code == NO_DEVICE   ? "CUDA_ERROR_NO_DEVICE"
                                  : "CUDA_ERROR_UNKNOWN";
    return OK;
}
