/* SPDX-License-Identifier: Apache-2.0
 * All hosts at one moment, from a database that answers PromQL or from the PostgreSQL that they write their history into: fetched,
 * judged, and shown worst first. The database keeps and distributes the data; here are only questions and answers.
 */
#pragma once

#include "base/env.h"
#include "base/error.h"
#include "base/json_writer.h"
#include "format/table/page.h"
#include "model/gpu.h"
#include "model/host.h"

struct part_ops;

/* From fine to worst. */
enum fleet_trouble { FLEET_FINE, FLEET_HELD, FLEET_DEGRADED, FLEET_THROTTLING, FLEET_FAILING, FLEET_LOST };

struct fleet_gpu {
    char host[HOST_NAME_SIZE];
    char gpu[16]; /* its index; "" for one that is gone */
    char uuid[GPU_UUID_SIZE], name[GPU_NAME_SIZE];
    bool up;
    struct reading util_permille, util_most_permille; /* now, and the most of the last half hour */
    struct reading used_bytes, total_bytes, free_bytes, temp_mdegc, power_mw;
    bool divided;                                            /* into instances (MIG): work is placed on one of them */
    struct reading instance_free_bytes, instance_most_bytes; /* the most free in one of them; the size of the largest */
    char throttle[48];                                       /* why; "" not */
    enum fleet_trouble health, trouble;
    char health_reason[128]; /* "": not known */
};

struct fleet_process {
    char host[HOST_NAME_SIZE], gpu[16];
    char process[PROCESS_NAME_SIZE], user[PROCESS_USER_SIZE], container[PROCESS_CONTAINER_NAME_SIZE];
    char pod[PROCESS_CONTAINER_NAME_SIZE], job[PROCESS_JOB_SIZE]; /* "NAMESPACE/POD"; "": none */
    struct reading mem_bytes, util_permille, power_mw;
};

struct fleet {
    struct fleet_gpu *gpus; /* by host and index */
    size_t gpu_count;
    struct fleet_process *processes;
    size_t process_count;
    bool simulated; /* what was added up here */
    size_t silent;  /* hosts that do not answer their scrape */
    uint32_t *slots;
    size_t slot_count;
};

/* What somebody wants to know: how hosts do, where memory is free, who runs what. A database of a thousand hosts takes a tenth of a
 * second for each figure of their GPUs. */
enum fleet_want {
    FLEET_WANT_HOSTS = 1 << 0,
    FLEET_WANT_ROOM = 1 << 1,
    FLEET_WANT_PROCESSES = 1 << 2,
    FLEET_WANT_GPUS = FLEET_WANT_HOSTS | FLEET_WANT_ROOM, /* all that is known of a GPU */
    FLEET_WANT_ALL = FLEET_WANT_GPUS | FLEET_WANT_PROCESSES
};

struct fleet_bill;
struct fleet_place {
    const struct env *env;
    const char *url; /* of Prometheus, VictoriaMetrics, ...: in front of /api/v1; or postgresql://... */
    int64_t timeout_ms;
    const _Atomic bool *cancel; /* becomes true: what is under way is given up within about a second; may be NULL */
};

enum { FLEET_ANSWER_MAX = 1 << 30 };
/* One question in PromQL; the body is appended. 0 or -errno with a sentence. */
int fleet_ask(const struct fleet_place *place, const char *question, struct buf *answer, struct error *err);
/* The sentence for an answer that could not be taken. */
int fleet_misunderstood(int rc, struct error *err);

/* Whether the place is a PostgreSQL; its answers, for fleet_fetch and fleet_bill_fetch. */
bool fleet_is_sql(const struct fleet_place *place);
int fleet_fetch_sql(const struct fleet_place *place, unsigned wants, struct fleet *ret, struct error *err);
int fleet_bill_fetch_sql(const struct fleet_place *place, struct fleet_bill *bill, struct error *err);

/* 0 or -errno with a sentence. What is not among the wants may be absent. */
int fleet_fetch(const struct fleet_place *place, unsigned wants, struct fleet *ret, struct error *err);
void fleet_done(struct fleet *f);

/* GPUs, and processes, that were added in any order. */
int fleet_index(struct fleet *f);
void fleet_join_processes(struct fleet *f);
/* Why a GPU throttles, of the reasons that are trouble. */
void fleet_take_throttle(struct fleet_gpu *g, struct reading bits);
/* After the last answer. */
void fleet_judge(struct fleet *f);

/* A host of the fleet: GPUs from `first` on. */
struct fleet_host {
    const struct fleet_gpu *gpus;
    size_t count;
    enum fleet_trouble trouble;
    struct reading util_permille, used_bytes, total_bytes, temp_mdegc, power_mw; /* mean; sums; highest; sum */
    char note[160];                                                              /* the worst, in words; "" nothing */
};
/* Worst first, then the busiest. The caller frees the list; NULL: out of memory or no hosts. */
struct fleet_host *fleet_hosts(const struct fleet *f, size_t *count);

/* What processes are added up by; fleet_by_words has the words for each. */
enum fleet_by { FLEET_BY_NONE, FLEET_BY_USER, FLEET_BY_CONTAINER, FLEET_BY_POD, FLEET_BY_JOB, FLEET_BY_HOST, FLEET_BY_COUNT };

struct fleet_by_words {
    const char *label;              /* of the series */
    const char *key, *list, *title; /* in JSON, one and many; in a table */
};
extern const struct fleet_by_words fleet_by_words[FLEET_BY_COUNT];

struct fleet_view {
    bool all;         /* else what fits on one screen */
    const char *user; /* only this one's processes; NULL: everybody's */
    enum fleet_by by;
    int64_t size_bytes; /* of fit */
};

enum { FLEET_ROWS = 40 };

void fleet_table_status(struct buf *out, const struct page *page, const struct fleet *f, const struct fleet_view *v);
void fleet_table_why(struct buf *out, const struct page *page, const struct fleet *f, const struct fleet_view *v);
void fleet_table_ps(struct buf *out, const struct page *page, const struct fleet *f, const struct fleet_view *v);
/* True: it fits somewhere. */
bool fleet_table_fit(struct buf *out, const struct page *page, const struct fleet *f, const struct fleet_view *v);

void fleet_json_status(struct json_writer *j, const struct fleet *f);
void fleet_json_why(struct json_writer *j, const struct fleet *f);
void fleet_json_ps(struct json_writer *j, const struct fleet *f, const struct fleet_view *v);
bool fleet_json_fit(struct json_writer *j, const struct fleet *f, const struct fleet_view *v);

/* ---- Energy and its cost over a span, by host (the GPUs' own counters) or by user, container, pod or job (power of processes over
 * time).
 * ---- */

struct fleet_energy {
    char name[PROCESS_CONTAINER_NAME_SIZE]; /* "": what belongs to nobody */
    double joules;
};
struct fleet_bill {
    struct fleet_energy *list; /* most first */
    size_t count;
    enum fleet_by by;
    int64_t span_ms;
    double price_per_kwh; /* 0: no costs */
    const char *currency;
};
int fleet_bill_fetch(const struct fleet_place *place, struct fleet_bill *bill, struct error *err);
void fleet_bill_sort(struct fleet_bill *bill);
void fleet_bill_done(struct fleet_bill *bill);
void fleet_table_bill(struct buf *out, const struct page *page, const struct fleet_bill *bill, bool all);
void fleet_json_bill(struct json_writer *j, const struct fleet_bill *bill);

/* GET /api/fleet of a daemon. */
extern const struct part_ops fleet_part_ops;

/* One sentence about the whole. */
void fleet_answer(const struct fleet *f, char *text, size_t size);
/* "failing" and the like, as the daemons call it; anything else is fine. */
enum fleet_trouble fleet_health_named(const char *state);
const char *fleet_trouble_name(enum fleet_trouble trouble);

/* Whether work may be put on it. */
bool fleet_is_usable(const struct fleet_gpu *g);
/* How much is free in one piece. */
struct reading fleet_room(const struct fleet_gpu *g);
/* Of how many GPUs that could be used the free memory is not known: so much may fit there. */
size_t fleet_unknown_room(const struct fleet *f, int64_t bytes);
/* GPUs with this much free, the tightest fit first, idle ones before busy ones. The caller frees the list. */
const struct fleet_gpu **fleet_fitting(const struct fleet *f, int64_t bytes, size_t *count);
/* What a group is called: the user, the container, the pod, the job or the host. */
const char *fleet_key(const struct fleet_process *p, enum fleet_by by);
/* "NAMESPACE/POD", "" without a pod. */
void fleet_pod_name(const char *space, const char *pod, char *to, size_t size);
/* Processes of one user, or of everybody, most memory first; with `by`: added up, `process` and `host` hold numbers then. The
 * caller frees the list. */
struct fleet_process *fleet_processes(const struct fleet *f, const struct fleet_view *v, size_t *count);
