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
    SOURCE_OFF, /* not on this host, or not requested: see message */
    SOURCE_OK,
    SOURCE_FAILING,   /* the last query failed */
    SOURCE_SET_ASIDE, /* more than 10 failures in a row: retried with growing pauses */
    SOURCE_HUNG,      /* stuck in a driver call */
    SOURCE_RELEASED,  /* released on request */
    SOURCE_ASLEEP,    /* closed because all its GPUs sleep */
};

struct source_status {
    char name[SOURCE_NAME_SIZE];
    bool names_driver; /* it identifies the driver, and its failures are the driver's */
    enum source_state state;
    int gpu_count;
    uint64_t errors_total;
    uint32_t consecutive_errors;
    uint64_t init_failures_total;
    uint64_t implausible_total;        /* impossible readings */
    bool out_of_memory;                /* in the last query: what it has is unknown */
    char message[SOURCE_MESSAGE_SIZE]; /* why it isn't OK, in the driver's words; "" otherwise */
};

struct driver_info {
    char driver_version[32]; /* "" unknown */
    char cuda_version[16];
    char nvml_version[32];
    char error_message[SOURCE_MESSAGE_SIZE];
};

enum event_kind {
    EVENT_DRIVER_FAULT, /* the driver reports a numbered error: NVIDIA's XIDs */
    EVENT_GPU_LOST,
    EVENT_GPU_BACK,
    EVENT_ECC,
    EVENT_SOURCE,
    EVENT_OTHER
};

struct event {
    enum event_kind kind;
    int gpu_index; /* -1: none */
    int64_t code;  /* of a driver fault: the driver's number for it */
    struct wall at;
    char text[128];
};

struct snapshot {
    _Atomic uint32_t refs;
    uint64_t sequence;
    unsigned groups; /* which groups were read */
    struct wall taken_at;
    struct mono taken;
    double interval_s;    /* of the sampler; 0 for a one-shot */
    int64_t suspended_ms; /* how long the host was suspended since the previous periodic snapshot; 0: it wasn't */
    struct host host;
    struct driver_info driver;
    struct source_status sources[SOURCES_MAX];
    size_t source_count;
    uint64_t host_implausible_total; /* the same for the host's own readings */
    struct event events[EVENTS_MAX]; /* new since the previous snapshot */
    size_t event_count;
    bool may_control;         /* its reader may change GPU settings with whirr: advice names the command */
    struct verdict *verdict;  /* NULL: not judged */
    struct gpu *accelerators; /* NPUs and other compute devices that aren't GPUs: shown, but neither judged nor summed */
    size_t accelerator_count;
    size_t gpu_count;
    struct gpu gpus[]; /* in index order */
};

struct snapshot *snapshot_new(size_t gpu_count); /* one reference, all zero */
/* Allocates `count` zeroed accelerators. 0 or -ENOMEM. */
int snapshot_add_accelerators(struct snapshot *s, size_t count);
struct snapshot *snapshot_copy(const struct snapshot *from); /* deep, with one reference; NULL: out of memory */
const struct snapshot *snapshot_ref(const struct snapshot *s);
void snapshot_unref(const struct snapshot *s); /* accepts NULL */
static inline void cleanup_snapshot(const struct snapshot **s)
{
    snapshot_unref(*s);
}
#define AUTO_SNAPSHOT __attribute__((cleanup(cleanup_snapshot)))

/* In place of the position of one GPU. */
enum { ALL_GPUS = -1 };

/* "--gpu": index, UUID (a unique prefix suffices, with or without "GPU-") or PCI address. -1: no match or several. */
int snapshot_find_gpu(const struct snapshot *s, const char *which);
/* Several: "0,2", "0-3", each a GPU as above. False: one of them is not there. */
struct gpu_choice {
    bool on[GPU_MAX]; /* by position */
    size_t count;
};
bool snapshot_find_gpus(const struct snapshot *s, const char *which, struct gpu_choice *ret);
bool gpu_names_several(const char *which);                           /* false for NULL */
const struct gpu *snapshot_gpu(const struct snapshot *s, int index); /* NULL: none has this index */

/* Whether a GPU's memory counts in the host's total: integrated graphics don't if a GPU with its own memory exists, and no pool
 * counts twice. GPUs that don't count get work only if named. */
bool snapshot_counts_memory(const struct snapshot *s, const struct gpu *gpu);

/* The source that reads a GPU. */
const struct source_status *snapshot_source(const struct snapshot *s, const char *name); /* NULL: not queried */
/* False: the source didn't start (no library, no driver), and the GPU is listed only because the host has it. */
bool snapshot_source_started(const struct snapshot *s, const struct gpu *gpu);
/* Whether there are GPUs, or a source that hasn't answered yet, and all of them are unreadable though they shouldn't be. */
/* How many ranks of its job on this host wait while this process does not; 0 if it waits itself. */
int snapshot_waiting_ranks(const struct snapshot *s, const struct process *of);
bool snapshot_none_readable(const struct snapshot *s);
bool snapshot_simulated(const struct snapshot *s, int only); /* only: the position of one GPU, or ALL_GPUS */

/* The drivers behind the GPUs, each once, in GPU order; texts belong to the snapshot. Returns their number. */
enum { DRIVERS_MAX = 8 };
struct gpu_driver {
    const char *source;  /* that reads it */
    const char *name;    /* "nvidia", "amdgpu", ... */
    const char *version; /* "" unknown */
};
size_t snapshot_drivers(const struct snapshot *s, struct gpu_driver drivers[DRIVERS_MAX]);

const char *source_state_name(enum source_state state);
const char *event_kind_name(enum event_kind kind);

/* Removes impossible readings (plausible.c), whatever a driver says: out of range, or more than the whole. They become absent
 * before anything is computed from them. Returns the number removed, of a GPU including processes and instances. */
unsigned gpu_drop_implausible(struct gpu *gpu);
unsigned process_drop_implausible(struct process *process);
unsigned host_drop_implausible(struct host *host);
