/* SPDX-License-Identifier: Apache-2.0
 * Everything known at one moment. Built once by the engine, published const, shared by reference count, and never edited.
 */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

#include "base/clock.h"
#include "model/gpu.h"
#include "model/host.h"

struct verdict;

enum { SOURCES_MAX = 16, SOURCE_MESSAGE_SIZE = 256, EVENTS_MAX = 64 };

enum source_state {
    SOURCE_OFF, /* not on this host, or not asked for: message says why */
    SOURCE_OK,
    SOURCE_FAILING,   /* the last query failed */
    SOURCE_SET_ASIDE, /* more than 10 failures in a row: retried with growing pauses */
    SOURCE_HUNG,      /* does not come back from the driver */
    SOURCE_RELEASED,  /* let go on request */
    SOURCE_ASLEEP,    /* closed because all of its GPUs sleep */
};

struct source_status {
    char name[SOURCE_NAME_SIZE];
    bool names_driver; /* what it says is what is said of the driver, and its failures are those of the driver */
    enum source_state state;
    int gpu_count;
    uint64_t errors_total;
    uint32_t consecutive_errors;
    uint64_t init_failures_total;
    uint64_t implausible_total;        /* readings that could not be true */
    bool out_of_memory;                /* when it was last asked: what it has is not known */
    char message[SOURCE_MESSAGE_SIZE]; /* why it is not OK, in the driver's words; "" otherwise */
};

struct driver_info {
    char driver_version[32]; /* "" unknown */
    char cuda_version[16];
    char nvml_version[32];
    char error_message[SOURCE_MESSAGE_SIZE];
};

enum event_kind {
    EVENT_DRIVER_FAULT, /* the driver reports an error by a number of its own: NVIDIA's XIDs */
    EVENT_GPU_LOST,
    EVENT_GPU_BACK,
    EVENT_ECC,
    EVENT_SOURCE,
    EVENT_OTHER
};

struct event {
    enum event_kind kind;
    int gpu_index; /* -1: none */
    int64_t code;  /* of a driver fault, the number that the driver gives it */
    struct wall at;
    char text[128];
};

struct snapshot {
    _Atomic uint32_t refs;
    uint64_t sequence;
    unsigned groups; /* what was read for it */
    struct wall taken_at;
    struct mono taken;
    double interval_s;    /* of the sampler; 0 for a one-shot */
    int64_t suspended_ms; /* the host was suspended for so long since the periodic snapshot before; 0: it was not */
    struct host host;
    struct driver_info driver;
    struct source_status sources[SOURCES_MAX];
    size_t source_count;
    uint64_t host_implausible_total; /* the same of the host's own readings */
    struct event events[EVENTS_MAX]; /* new since the previous snapshot */
    size_t event_count;
    bool may_control;         /* who reads it may change settings of its GPUs with whirr: advice names the command */
    struct verdict *verdict;  /* what was found in it; NULL: it was not judged */
    struct gpu *accelerators; /* NPUs and other devices that compute and are no GPUs: shown, and neither judged nor summed up */
    size_t accelerator_count;
    size_t gpu_count;
    struct gpu gpus[]; /* in index order */
};

struct snapshot *snapshot_new(size_t gpu_count); /* one reference, all zero */
/* Makes room for so many, all zero. 0 or -ENOMEM. */
int snapshot_add_accelerators(struct snapshot *s, size_t count);
struct snapshot *snapshot_copy(const struct snapshot *from); /* deep, with one reference; NULL: out of memory */
const struct snapshot *snapshot_ref(const struct snapshot *s);
void snapshot_unref(const struct snapshot *s); /* NULL is fine */
static inline void cleanup_snapshot(const struct snapshot **s)
{
    snapshot_unref(*s);
}
#define AUTO_SNAPSHOT __attribute__((cleanup(cleanup_snapshot)))

/* Instead of the position of one GPU. */
enum { ALL_GPUS = -1 };

/* "--gpu": index, UUID (a unique beginning is enough, with or without "GPU-") or PCI address. -1 when none or several match. */
int snapshot_find_gpu(const struct snapshot *s, const char *which);

/* Whether a GPU's memory is part of the host's sum of GPU memory: that of graphics which share the host's is not beside a GPU with
 * memory of its own, and no pool counts twice. Work goes to other GPUs only where one is named. */
bool snapshot_counts_memory(const struct snapshot *s, const struct gpu *gpu);

/* Of the source that reads a GPU. */
const struct source_status *snapshot_source(const struct snapshot *s, const char *name); /* NULL: it was not asked */
/* False: the source did not start (no library, no driver), and the GPU is listed because the host has it. */
bool snapshot_source_started(const struct snapshot *s, const struct gpu *gpu);
/* Whether there are GPUs, or a source that still owes its answer, and none of them can be read though all should. */
bool snapshot_none_readable(const struct snapshot *s);

/* The drivers behind the GPUs, each once, in the order of the GPUs; texts are the snapshot's. Returns how many. */
enum { DRIVERS_MAX = 8 };
struct gpu_driver {
    const char *source;  /* that reads it */
    const char *name;    /* "nvidia", "amdgpu", ... */
    const char *version; /* "" unknown */
};
size_t snapshot_drivers(const struct snapshot *s, struct gpu_driver drivers[DRIVERS_MAX]);

const char *source_state_name(enum source_state state);
const char *event_kind_name(enum event_kind kind);
