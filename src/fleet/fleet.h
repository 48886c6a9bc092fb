/* SPDX-License-Identifier: Apache-2.0
 * All hosts at one moment, from a PromQL database or from the PostgreSQL that holds their history: fetched, and shown worst first.
 * Each host judges its own GPUs; this adds only what no host can see: hosts that fell silent, and which rank a job on several hosts
 * waits for.
 */
#pragma once

#include "base/env.h"
#include "base/error.h"
#include "base/json_writer.h"
#include "format/table/page_table.h"
#include "model/finding.h"
#include "model/gpu.h"
#include "model/host.h"
#include "model/limit.h"

struct part_ops;

/* The state of a GPU or host, for counts and colors. FLEET_UNJUDGED: a whirr without findings, neither good nor bad.
 * FLEET_UNUSUAL: worth knowing, but not about health. */
enum fleet_state {
    FLEET_FINE,
    FLEET_UNJUDGED,
    FLEET_HELD,
    FLEET_UNUSUAL,
    FLEET_DEGRADED,
    FLEET_SILENT,
    FLEET_FAILING,
    FLEET_LOST,
    FLEET_STATES
};

/* A host's findings about one of its GPUs, or about itself. */
struct fleet_findings {
    struct finding first;        /* the most important one; its headline is "" if the database has none */
    char code[32];               /* of `first`, as the host wrote it: newer versions have other codes; "": none */
    char process[PROCESS_WORDS]; /* that `first` names; "": none */
    enum health_effect effect;   /* the worst of all findings */
    bool forbids, held;          /* a finding forbids placing work; memory was held idle for long */
};

/* An instance of a partitioned GPU (MIG), as far as the database knows. */
struct fleet_instance {
    char uuid[GPU_UUID_SIZE], profile[GPU_TEXT_SIZE];
    struct reading free_bytes, util_permille;
    uint32_t next; /* of the same GPU, from 1; 0: last one */
};

struct fleet_gpu {
    char host[HOST_NAME_SIZE];
    char gpu[16]; /* its index; "": it is gone */
    char uuid[GPU_UUID_SIZE], name[GPU_NAME_SIZE];
    char instance[HOST_NAME_SIZE]; /* the address where it is scraped; "": unknown */
    bool up;
    struct reading util_permille, used_bytes, total_bytes, free_bytes, temp_mdegc, power_mw;
    bool divided;                                           /* into instances (MIG), which work is placed on */
    uint32_t first_instance;                                /* from 1; 0: none known */
    struct reading instance_free_bytes, instance_max_bytes; /* the most free memory in one of them; size of the largest */
    struct fleet_odds {
        int64_t watts_permille, celsius, hertz_permille; /* more than the middle of its siblings; 0: not odd */
        int64_t siblings;                                /* other GPUs of its model at the same work */
        char process[PROCESS_WORDS];
    } odds;
    struct fleet_findings findings;
    enum fleet_state state;
};

/* A host's GPUs, added up by the host itself. */
struct fleet_sum {
    char host[HOST_NAME_SIZE];
    char set[24];      /* identifies its GPUs: differs between two hosts of the same name */
    uint32_t instance; /* the route it came by */
    struct reading gpus, judged, util_known, util_permille, used_bytes, total_bytes, held_bytes, temp_mdegc, power_mw;
};

enum { FLEET_MACHINE_SIZE = 24 };

/* A host with more to report than its GPUs: it has findings about itself, or has fallen silent. */
struct fleet_note {
    char host[HOST_NAME_SIZE];
    struct fleet_findings findings;
    bool silent, down;     /* down: a target of Prometheus says so */
    int64_t silent_ms;     /* for how long; 0: unknown */
    int64_t back_ms;       /* the database itself was away, and has been back for so long: no host could write; 0: it was not */
    struct fleet_sum last; /* what a silent host added up last; no GPUs: unknown */
    char own[HOST_NAME_SIZE], instance[HOST_NAME_SIZE], machine[FLEET_MACHINE_SIZE]; /* of a silent host, as it named itself */
    int64_t forgotten_ms; /* how long ago a person accepted that it is gone; 0: it is expected */
    char forgotten_by[PROCESS_USER_SIZE];
    bool expected_only;    /* known from the settings only: never seen, or not for long */
    int64_t expected_gpus; /* from the settings; -1: not set */
    int64_t ahead_ms;      /* its clock against the database's; 0: correct, or unknown */
};

struct fleet_process {
    char host[HOST_NAME_SIZE], gpu[16];
    char process[PROCESS_NAME_SIZE], user[PROCESS_USER_SIZE], container[PROCESS_CONTAINER_NAME_SIZE];
    char pod[PROCESS_CONTAINER_NAME_SIZE], job[PROCESS_JOB_SIZE]; /* "NAMESPACE/POD"; "": none */
    char uuid[GPU_UUID_SIZE];                                     /* of the GPU; "": unknown */
    uint32_t instance;                                            /* the route it came by, if there are several to a host */
    struct reading mem_bytes, util_permille, power_mw;
    enum limit limit; /* its main limit; LIMIT_UNJUDGED: not queried, or unknown */
    int64_t limit_permille;
};

struct fleet {
    struct fleet_gpu *gpus; /* by host and index */
    size_t gpu_count;
    struct fleet_instance *instances;
    size_t instance_count, instance_capacity;
    struct fleet_sum *sums; /* by host; if present, `gpus` has only those in trouble */
    size_t sum_count, sum_capacity;
    struct fleet_process *processes;
    size_t process_count;
    struct fleet_note *notes;
    size_t note_count, note_capacity;
    size_t silent;  /* number of silent ones */
    size_t missing; /* missing GPUs of hosts that are up */
    size_t clocks_off;
    struct wall at; /* time of the answer, by the local clock */
    bool simulated; /* of what was added up */
    uint32_t *slots;
    size_t slot_count;
};

/* What a caller needs: the state of hosts, free memory, processes. A database of a thousand hosts takes a tenth of a second per
 * GPU metric. */
enum fleet_want {
    FLEET_WANT_HOSTS = 1 << 0,
    FLEET_WANT_ROOM = 1 << 1,
    FLEET_WANT_PROCESSES = 1 << 2,
    FLEET_WANT_LIMITS = 1 << 3,                           /* of processes in jobs */
    FLEET_WANT_SUMS = 1 << 4,                             /* hosts, by their own sums */
    FLEET_WANT_GPUS = FLEET_WANT_HOSTS | FLEET_WANT_ROOM, /* everything about a GPU */
    FLEET_WANT_ALL = FLEET_WANT_GPUS | FLEET_WANT_PROCESSES
};

struct fleet_bill;
struct config_list;
struct config_fleet;
struct http_peer;
struct fleet_place {
    const struct env *env;
    const char *url; /* Prometheus, VictoriaMetrics, ...: the part before /api/v1; or postgresql://... */
    int64_t timeout_ms;
    const struct config_fleet *settings; /* expected hosts, and how to query; NULL: unknown */
    const _Atomic bool *cancel;          /* set to true to cancel within about a second; may be NULL */
};

enum { FLEET_ANSWER_MAX = 1 << 30, FLEET_SENTENCE = 512 };
/* Requests the percent-encoded path after /api/v1/ and appends the body. 0, -EIO if the database refused, or -errno with a
 * message. */
int fleet_get(const struct fleet_place *place, const char *path, struct buf *answer, struct error *err);
/* One PromQL query, about this moment ("1700000000.125"; NULL: now). */
int fleet_ask(const struct fleet_place *place, const char *question, const char *when, struct buf *answer, struct error *err);
/* The message for an answer that can't be parsed. */
int fleet_misunderstood(int rc, struct error *err);

/* Whether the place is a PostgreSQL database; its versions of fleet_fetch and fleet_bill_fetch. */
bool fleet_is_sql(const struct fleet_place *place);
int fleet_fetch_sql(const struct fleet_place *place, unsigned wants, struct fleet *ret, struct error *err);
int fleet_bill_fetch_sql(const struct fleet_place *place, struct fleet_bill *bill, struct error *err);

/* 0 or -errno with a message. What is not wanted may be absent. */
int fleet_fetch(const struct fleet_place *place, unsigned wants, struct fleet *ret, struct error *err);
void fleet_done(struct fleet *f);

uint64_t fleet_hash(const char *a, const char *b, const char *c);
/* Sorts GPUs, and processes, that were added in any order. */
int fleet_index(struct fleet *f);
void fleet_join_processes(struct fleet *f);
/* Requires fleet_index(). NULL: not found. */
struct fleet_gpu *fleet_find(const struct fleet *f, const char *host, const char *gpu, const char *uuid);
/* The same, but adds a missing GPU as a working one, which requires another fleet_index(). NULL: out of memory. */
struct fleet_gpu *fleet_find_or_add(struct fleet *f, size_t *capacity, const char *host, const char *gpu, const char *uuid);
const struct fleet_sum *fleet_sum_of(const struct fleet *f, const char *host); /* NULL: none */
/* A finding from a database; a newer version may have written it. */
struct fleet_finding {
    const char *code, *process, *headline;
    enum severity severity;
    double confidence;
    bool held; /* for as long as its kind takes to be worth a message */
    enum tense tense;
};
/* Keeps the finding that ranks first. */
void fleet_findings_add(struct fleet_findings *findings, const struct fleet_finding *finding);
/* The note of a host, created if missing; NULL: out of memory. */
struct fleet_note *fleet_note_of(struct fleet *f, const char *host);
/* Adds the fleet's own finding about a host. */
void fleet_note_add(struct fleet_note *n, const char *code, enum health_effect effect, const char *headline);
/* Records a host's clock offset from the database; the largest one counts. 0 or -ENOMEM. */
int fleet_compare_clock(struct fleet *f, const char *host, int64_t ahead_ms);
/* Whether the host is up: one of its GPUs is known. */
bool fleet_has_gpus(const struct fleet *f, const char *host);
/* Distinguishes hosts of the same name by the UUIDs of their GPUs. 0 or -ENOMEM. */
int fleet_distinguish_names(struct fleet *f);
/* Adds what `fleet.expect` names but is missing. 0 or -ENOMEM. */
int fleet_expect(struct fleet *f, const struct config_list *expect);
bool fleet_any_silent(const struct fleet *f);
/* A person forgot the silent host, or expects it again; the last act counts. */
void fleet_take_forgotten(struct fleet *f, const char *host, const char *machine, const char *by, int64_t ago_ms, bool undo);
/* Hosts that were forgotten since they were last heard are no longer silent. */
void fleet_leave_out(struct fleet *f, const struct fleet_place *place);
/* Those of this host's lists, for rules about hosts that are silent. Each scrape asks for them: `kept`, zeroed before the first,
 * has the text until a list changes. The owner frees it. */
enum { FORGOTTEN_LISTS = 2 };
struct forgotten_metrics {
    struct forgotten_list {
        int64_t changed_ns, bytes;
    } lists[FORGOTTEN_LISTS];
    struct buf text;
};
void fleet_forgotten_metrics(struct forgotten_metrics *kept, struct buf *out);
/* Forgets a silent host, or expects it again: in the database's own list if that is PostgreSQL, else in a list of this host.
 * -ENOENT: there is no such host; -EBUSY: it answers. *ret: the host, valid as long as `f`. */
int fleet_forget(const struct fleet_place *place, struct fleet *f, const char *host, bool undo, bool dry, const char *by,
                 const struct fleet_note **ret, struct error *err);
/* After the last answer: sets states, and finds silent hosts. */
void fleet_settle(struct fleet *f);

/* A host of the fleet, with its GPUs. */
struct fleet_host {
    const char *name;
    const struct fleet_gpu *gpus;       /* NULL: none */
    size_t count;                       /* of these */
    size_t all;                         /* how many it has; more than `count` if only those in trouble were queried */
    const struct fleet_sum *sum;        /* NULL: `gpus` is complete */
    const struct fleet_note *host_note; /* NULL: nothing about the host itself */
    const struct fleet_findings *first; /* the most important one of all */
    bool old;                           /* the host is silent: these are its last numbers */
    enum fleet_state state;
    struct reading util_permille, used_bytes, total_bytes, temp_mdegc, power_mw; /* mean; sums; maximum; sum */
    char note[FINDING_HEADLINE_SIZE + 64];                                       /* the worst problem in words; "": none */
};
/* Worst first, then busiest. The caller frees the list; NULL: out of memory or no hosts. */
struct fleet_host *fleet_hosts(const struct fleet *f, size_t *count);

/* How to group processes; fleet_by_words has the words for each. */
enum fleet_by { FLEET_BY_NONE, FLEET_BY_USER, FLEET_BY_CONTAINER, FLEET_BY_POD, FLEET_BY_JOB, FLEET_BY_HOST, FLEET_BY_COUNT };

struct fleet_by_words {
    const char *label;              /* of the series */
    const char *key, *list, *title; /* in JSON, singular and plural; in a table */
};
extern const struct fleet_by_words fleet_by_words[FLEET_BY_COUNT];

struct fleet_view {
    bool all;         /* otherwise what fits on one screen */
    const char *user; /* only this user's processes; NULL: all */
    enum fleet_by by;
    const char *job;    /* for why: only this one; NULL: all hosts */
    int64_t size_bytes; /* for fit */
};

enum { FLEET_ROWS = 40 };

void fleet_table_status(struct buf *out, const struct page *page, const struct fleet *f, const struct fleet_view *v);
void fleet_table_why(struct buf *out, const struct page *page, const struct fleet *f, const struct fleet_view *v);
void fleet_table_ps(struct buf *out, const struct page *page, const struct fleet *f, const struct fleet_view *v);
/* True if a process of the job exists. */
bool fleet_table_job(struct buf *out, const struct page *page, const struct fleet *f, const struct fleet_view *v);
/* True if it fits somewhere. */
bool fleet_table_fit(struct buf *out, const struct page *page, const struct fleet *f, const struct fleet_view *v);

void fleet_json_status(struct json_writer *j, const struct fleet *f);
void fleet_json_why(struct json_writer *j, const struct fleet *f);
void fleet_json_ps(struct json_writer *j, const struct fleet *f, const struct fleet_view *v);
bool fleet_json_job(struct json_writer *j, const struct fleet *f, const struct fleet_view *v);
bool fleet_json_fit(struct json_writer *j, const struct fleet *f, const struct fleet_view *v);

/* ---- Energy and its cost over a span: by host (the GPUs' counters), or by user, container, pod or job (power of processes over
 * time). ---- */

struct fleet_energy {
    char name[PROCESS_CONTAINER_NAME_SIZE]; /* "": without a name */
    double joules;
};
struct fleet_bill {
    struct fleet_energy *list; /* largest first */
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
#define JOULES_PER_KWH 3.6e6
void fleet_json_bill(struct json_writer *j, const struct fleet_bill *bill);
/* All of it, for the page; a bill may be NULL. */
void fleet_json_now(struct json_writer *j, const struct fleet *f, const struct fleet_bill *by_host,
                    const struct fleet_bill *by_user);
extern const struct answer fleet_now_answer;

/* GET /api/fleet of a daemon. */
extern const struct part_ops fleet_part_ops;

/* Numbers for a cell, without unit: "1.5" GiB, "250" W. */
void fleet_show_gib(char text[NUMBER_SIZE], const struct page *page, struct reading bytes);
void fleet_show_watts(char text[NUMBER_SIZE], const struct page *page, struct reading mw);
/* A host's numbers; old ones in parentheses. */
void fleet_show_host(const struct fleet_host *h, const struct page *page, char util[NUMBER_SIZE], char used[NUMBER_SIZE],
                     char temp[NUMBER_SIZE], char power[NUMBER_SIZE]);

/* Summarizes the fleet in one sentence. */
void fleet_answer(const struct fleet *f, char *text, size_t size);
/* "not_judged", "failing": for JSON and filters. */
const char *fleet_state_name(enum fleet_state state);
/* The host's finding about this GPU, in a sentence without a period; "": none. */
void fleet_headline(const struct fleet_gpu *g, char *text, size_t size);

/* Whether it accepts work. */
bool fleet_is_usable(const struct fleet_gpu *g);
/* An instance of the GPU, added if missing. NULL: out of memory. */
struct fleet_instance *fleet_instance_of(struct fleet *f, struct fleet_gpu *g, const char *uuid, const char *profile);
/* Free memory of the GPU, or of the instance that has most. */
struct reading fleet_room(const struct fleet_gpu *g);
/* How many usable GPUs don't report free memory: these bytes may fit there. */
size_t fleet_unknown_room(const struct fleet *f, int64_t bytes);
/* Where this much memory is free: GPUs, and instances of partitioned ones with their own UUID, name and memory. Tightest fit
 * first, idle before busy. The caller frees the list. */
struct fleet_gpu *fleet_fitting(const struct fleet *f, int64_t bytes, size_t *count);
/* The name of a group: the user, container, pod, job or host. */
const char *fleet_key(const struct fleet_process *p, enum fleet_by by);
/* "NAMESPACE/POD", "" without a pod. */
void fleet_pod_name(const char *space, const char *pod, char *to, size_t size);
/* Processes of one user, or of all, most memory first. With `by` they are added up, and `process` and `host` contain counts. The
 * caller frees the list. */
struct fleet_process *fleet_processes(const struct fleet *f, const struct fleet_view *v, size_t *count);
