/* SPDX-License-Identifier: Apache-2.0
 * A GPU at one moment: identity, state, every metric of the table, its processes and its instances (MIG, partitions).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/clock.h"
#include "model/activity.h"
#include "model/metric.h"
#include "model/process.h"
#include "model/reading.h"

enum {
    GPU_MAX = 256,
    GPU_PROCESSES_MAX = 1024, /* per GPU; processes_left_out counts the rest */
    GPU_INSTANCES_MAX = 64,
    GPU_NAME_SIZE = 96,
    GPU_UUID_SIZE = 96,
    GPU_PCI_SIZE = 16, /* "0000:00:06.0", lower case */
    GPU_TEXT_SIZE = 64,
    GPU_ERROR_SIZE = 192,
    SOURCE_NAME_SIZE = 16,
};
/* Tachometers of stopped fans show a few rpm: 5 on a Vega 56, 29 on an RX 5700 XT. */
enum { FAN_TURNS_FROM_RPM = 100 };

/* Devices that aren't GPUs are listed separately and count in no sum. Of an InfiniBand port, an identity has the name ("mlx5_0/1")
 * as its UUID. */
enum device_kind { DEVICE_GPU, DEVICE_NPU, DEVICE_ACCELERATOR, DEVICE_IB_PORT };

/* Identity: constant while the program runs. */
struct gpu_id {
    char uuid[GPU_UUID_SIZE];       /* "" unknown */
    char pci_address[GPU_PCI_SIZE]; /* "" unknown */
    char name[GPU_NAME_SIZE];       /* "" unknown */
    char vendor[16];                /* "nvidia", "amd", "intel", ... */
    enum device_kind kind;
};

enum gpu_state { GPU_OK, GPU_ASLEEP, GPU_ERROR, GPU_LOST };

struct property_text {
    enum reading_state state;
    char value[GPU_TEXT_SIZE];
};

/* A past sample that the driver kept. */
struct gpu_moment {
    struct wall at;
    struct reading util_permille, power_mw;
};

/* A lease on a GPU. */
struct gpu_lease {
    char id[LEASE_ID_SIZE]; /* "": none */
    char user[PROCESS_USER_SIZE];
    char holder[GPU_TEXT_SIZE];  /* for messages: "alice (train.py)" */
    char changes[GPU_TEXT_SIZE]; /* changed settings: "power limit 330 W" */
    bool reserved;               /* for anything its user runs, not for one program */
    struct wall until;           /* ms 0: open-ended */
};

/* The last check of a GPU (whirr check) that counts: what it found holds until a clean one. */
enum { CHECK_WORDS = 256 };
struct gpu_check {
    struct wall at;     /* ms 0: none */
    int level, verdict; /* enum check_level, enum check_verdict (insight/check/judge.h); at most 15 */
    int32_t running;    /* PID of a check that is under way; 0: none */
    char words[CHECK_WORDS];
};

struct gpu {
    struct gpu_id id;
    int index;
    char source[SOURCE_NAME_SIZE];
    bool simulated;
    enum gpu_state state;
    bool unlisted;                      /* only remembered: its source works, and does not list it */
    bool released;                      /* unreadable because its source was released on request: not a fault */
    char error_message[GPU_ERROR_SIZE]; /* the driver's message; "" none */
    char profile[GPU_TEXT_SIZE];        /* of an instance: "1g.18gb"; "" for a whole GPU */

    union {
        struct {
#define METRIC(field, ...) struct reading field;
#include "model/metrics.def"
#undef METRIC
        };
        struct reading metric[METRIC_COUNT];
    };
    union {
        struct {
#define PROPERTY(field, ...) struct property_text field;
#include "model/properties.def"
#undef PROPERTY
        };
        struct property_text property[PROPERTY_COUNT];
    };

    struct mono group_read[METRIC_GROUPS]; /* when each group was last read, by its bit; 0: with the sample */

    /* Bytes counted continuously while the program runs. For databases that want counters; the history and people get rates. */
    struct reading pcie_rx_bytes, pcie_tx_bytes;

    enum reading_state processes_state; /* READING_OK: the list is known (it may be empty) */
    struct process *processes;
    size_t process_count, process_capacity;
    size_t processes_left_out; /* beyond GPU_PROCESSES_MAX */
    struct reading idle_mw;    /* idle power draw, as observed so far */
    size_t processes_hidden;   /* exist, but we lack the privileges to see them */

    struct gpu *instances;
    size_t instance_count;

    struct gpu_moment *before; /* GROUP_PAST: the last seconds, oldest first; gpu_copy skips it */
    size_t before_count;

    struct gpu_lease lease;    /* the one that reserves it */
    struct gpu_lease settings; /* the first that changes its settings, with the changes of all */
    struct gpu_check check;
    struct activity activity; /* judged when the snapshot is built */
};

/* Frees what the GPU owns, but not the struct. */
void gpu_done(struct gpu *gpu);
/* Appends a zeroed process (unsorted); NULL if the list is full or memory is exhausted. */
struct process *gpu_add_process(struct gpu *gpu, int32_t pid);
/* Keeps the first `count` processes. */
void gpu_cut_processes(struct gpu *gpu, size_t count);
struct process *gpu_find_process(const struct gpu *gpu, int32_t pid);
/* A zeroed instance; NULL when full. Invalidates pointers to earlier instances. */
struct gpu *gpu_add_instance(struct gpu *gpu);
/* Deep copy; `to` owns its lists. 0 or -ENOMEM. */
int gpu_copy(struct gpu *to, const struct gpu *from);

/* How long before the sample a metric was read. */
int64_t gpu_metric_age_ms(const struct gpu *gpu, const struct metric_info *metric, struct mono sample);

/* Sets every UNREAD metric of the groups to `why`. */
void gpu_mark_absent(struct gpu *gpu, unsigned groups, enum reading_state why);
/* The same for the readings of its processes. */
void gpu_mark_shares_absent(struct gpu *gpu, enum reading_state why);
/* The whole GPU is unreadable: sets state and message, and marks every metric absent for that reason. */
void gpu_mark_state(struct gpu *gpu, enum gpu_state state, const char *message);
/* It fails and has no readings: no row of it is stored or sent. */
bool gpu_is_unread(const struct gpu *gpu);

/* Uses the host's memory. */
bool gpu_shares_memory(const struct gpu *gpu);

void gpu_set_property(struct gpu *gpu, enum property property, const char *text);

/* Which of two processes on a GPU matters more to people: the larger GPU share, then more memory. Negative: `a`. */
int gpu_process_order(const struct process *a, const struct process *b);
/* The most important one; NULL without processes. */
const struct process *gpu_top_process(const struct gpu *gpu);

/* Utilization is the share of time in which anything ran, however little; weighted by power it says how much. Absent if the GPU
 * has SM activity counters, which are better. */
struct reading gpu_effective_load(const struct gpu *gpu);

const char *gpu_state_name(enum gpu_state state);
/* "leased to alice until 18:00", "reserved for bob", "power limit 330 W until 08:00"; "": none. */
enum { GPU_LEASE_WORDS = 192 };
const char *gpu_lease_words(const struct gpu_lease *l, struct wall now, char out[GPU_LEASE_WORDS]);
const char *device_kind_name(enum device_kind kind); /* "gpu", "npu", "accelerator", "infiniband_port" */
/* "RTX 4090" of "NVIDIA GeForce RTX 4090": omits the vendor, and the family before a model. Points into the name. */
const char *gpu_short_name(const struct gpu *gpu);
const char *gpu_id_key(const struct gpu_id *id); /* how leases, settings and files name it: UUID, else PCI address, else "" */
bool gpu_same(const struct gpu_id *a, const struct gpu_id *b); /* the same GPU by UUID, else PCI address, else name */
