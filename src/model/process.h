/* SPDX-License-Identifier: Apache-2.0
 * One process on one GPU. A source fills in what the driver knows (pid, type, readings); the engine identifies it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "model/activity.h"
#include "model/host_evidence.h"
#include "model/limit.h"
#include "model/metric.h"
#include "model/reading.h"

enum process_type { PROCESS_COMPUTE = 1, PROCESS_GRAPHICS = 2, PROCESS_BOTH = 3 };

/* How power_mw was attributed. */
enum power_basis { POWER_BASIS_NONE, POWER_BASIS_UTILIZATION, POWER_BASIS_MEMORY, POWER_BASIS_ONLY_PROCESS };

enum {
    PROCESS_NAME_SIZE = 64,
    PROCESS_USER_SIZE = 33,
    PROCESS_COMMAND_SIZE = 512,
    PROCESS_CONTAINER_SIZE = 96,
    PROCESS_MODEL_SIZE = 128,
    PROCESS_TITLE_SIZE = 64,
    PROCESS_CONTAINER_NAME_SIZE = 160,
    PROCESS_JOB_SIZE = 64,
    LEASE_ID_SIZE = 16,
};

/* Times that a model server accumulates since its start: total seconds and their number. */
enum serving_time { SERVING_FIRST_TOKEN, SERVING_PER_TOKEN, SERVING_REQUEST, SERVING_TIMES };
struct serving_sum {
    bool known;
    double seconds, count;
};

/* What a program's environment says that matters for advice: never the text of a variable. */
enum process_variable {
    VARIABLE_READ = 1 << 0,           /* the environment could be read: what is not below is not set */
    VARIABLE_NO_BOOST = 1 << 1,       /* CUDA_DISABLE_PERF_BOOST=1 */
    VARIABLE_FEW_QUEUES = 1 << 2,     /* GPU_MAX_HW_QUEUES */
    VARIABLE_OWN_GPUS = 1 << 3,       /* CUDA_VISIBLE_DEVICES or a relative chose its GPUs */
    VARIABLE_GROWING_MEMORY = 1 << 4, /* PyTorch's allocator with expandable_segments:True */
};

struct process {
    int32_t pid;
    enum process_type type;
    int32_t instance;                   /* index into the GPU's instances, -1: the whole GPU */
    bool visible;                       /* found in this PID namespace; if not, only its number is known */
    int32_t parent;                     /* the process that started it; 0 unknown */
    int64_t start_key;                  /* identifies the process together with pid: start in clock ticks since boot, 0 unknown */
    struct wall started_at;             /* ms 0: unknown */
    char name[PROCESS_NAME_SIZE];       /* "" unknown */
    char user[PROCESS_USER_SIZE];       /* "" unknown */
    char command[PROCESS_COMMAND_SIZE]; /* secrets masked; "" unknown */
    char container[PROCESS_CONTAINER_SIZE]; /* "" none or unknown */
    char model[PROCESS_MODEL_SIZE];         /* from the command line; "" none */
    char title[PROCESS_TITLE_SIZE];         /* what people call it: script, module, game or application; "": use its name */
    char container_name[PROCESS_CONTAINER_NAME_SIZE]; /* from its runtime, "NAMESPACE/POD/CONTAINER"; "" none or unknown */
    enum reading_state container_name_state;          /* why container_name is unknown */
    char parent_name[PROCESS_NAME_SIZE];              /* "" unknown */
    char job[PROCESS_JOB_SIZE];      /* "4711" (Slurm), "llama-ft" (given to torchrun), "torchrun:4242"; "" none or unknown */
    char launcher[PROCESS_JOB_SIZE]; /* its launcher, maybe shared with others of its job: "torchrun:4242"; "" none */
    struct reading silent_rank;      /* the first rank of its job that doesn't answer the others; absent: not asked, or all
                                      * answer */
    struct reading rank, world_size; /* its rank in the job, and the number of ranks */
    char lease[LEASE_ID_SIZE];       /* the lease it runs under; "" none or unknown */
    unsigned char variables;         /* enum process_variable; 0: unknown */
    bool without_lease;              /* known to run without a lease */
    enum power_basis power_basis;
    enum process_activity activity;
    struct process_limit limit; /* what limits it; judged when the snapshot is built */
    char server_kind[16];       /* "vllm"; "" not a model server that was asked */
    struct serving_sum served[SERVING_TIMES];
    struct host_evidence *host; /* what it was doing on the host; NULL: not read. Owned: process_copy, process_done */
    union {
        struct {
#define PROCESS_METRIC(field, ...) struct reading field;
#include "model/process_metrics.def"
#undef PROCESS_METRIC
        };
        struct reading metric[PROCESS_METRIC_COUNT];
    };
};

/* Frees what the process owns, but not the struct. */
void process_done(struct process *p);
/* Deep copy onto a process that owns nothing. Out of memory, the copy lacks the owned parts. */
void process_copy(struct process *to, const struct process *from);
/* Its host evidence, allocated and zeroed on first use; NULL: out of memory. */
struct host_evidence *process_evidence(struct process *p);

/* What people call the program; "": unknown. */
static inline const char *process_title(const struct process *p)
{
    return p->title[0] ? p->title : p->name;
}

/* Stopped by Ctrl-Z, a debugger or a freezer. */
static inline bool process_stands_stopped(const struct process *p)
{
    return p->host && reading_or(p->host->stopped, 0);
}

/* "waits for disk", "stopped"; "": unknown. */
static inline const char *process_doing(const struct process *p)
{
    return process_stands_stopped(p) ? "stopped" : p->limit.code == LIMIT_UNJUDGED ? "" : limit_doing(p->limit.code);
}

/* Draws the desktop: a compositor or shell, which always runs. */
bool process_draws_desktop(const char *name);

/* The container's name, else its ID; "" outside containers. */
static inline const char *process_container(const struct process *p)
{
    return p->container_name[0] ? p->container_name : p->container;
}

/* "NAMESPACE/POD"; "" outside Kubernetes, or if unknown. */
void process_pod(const struct process *p, char *to, size_t size);

/* The model without its owner: "Llama-3.1-8B" of "meta-llama/Llama-3.1-8B"; "" none. */
const char *process_model(const struct process *p);

/* The one name of a process: the script or program, plus the requested parts: model, PID, user and place (container, pod or
 * job). SHORT_NAME "train.py · Llama-3.1-8B", LONG_NAME "train.py · Llama-3.1-8B (alice, train-llama)", EXACT_NAME "train.py
 * (pid 4242, alice, train-llama)"; "process 4242" if only its number is known. */
enum process_part {
    WITH_MODEL = 1,
    WITH_PID = 2,
    WITH_USER = 4,
    WITH_PLACE = 8,
    SHORT_NAME = WITH_MODEL,
    WITH_OWNER = WITH_USER | WITH_PLACE,
    LONG_NAME = SHORT_NAME | WITH_OWNER,
    EXACT_NAME = WITH_PID | WITH_OWNER,
};
enum { PROCESS_WORDS = 224 };
const char *process_words(const struct process *p, unsigned with, char out[PROCESS_WORDS]);

/* "3/8": rank and world size; "": unknown. */
enum { RANK_WORDS = 32 };
/* "rank 5 is in save(), train.py:301, while 7 wait for it"; "": its rank is not known, or none waits. */
const char *process_late_words(const struct process *p, int waiting, const char *place, char *out, size_t size);
const char *process_rank_words(const struct process *p, char out[RANK_WORDS]);

const char *process_type_name(enum process_type type);
const char *power_basis_name(enum power_basis basis);
