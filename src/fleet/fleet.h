/* SPDX-License-Identifier: Apache-2.0
 * All hosts at one moment, from a database that answers PromQL or from the PostgreSQL that they write their history into: fetched
 * and shown worst first. What is wrong with a GPU is what its own host found; only what no host sees alone is
 * judged here: silence of a host that was there, and for whom a job on several hosts waits.
 */
#pragma once

#include "base/env.h"
#include "base/error.h"
#include "base/json_writer.h"
#include "format/table/page.h"
#include "model/finding.h"
#include "model/gpu.h"
#include "model/host.h"
#include "model/limit.h"

struct part_ops;

/* The state of a GPU or a host in one word, for counts and colors. FLEET_UNJUDGED: a whirr without findings, which says neither
 * good nor bad. FLEET_UNUSUAL: worth knowing, but not of the GPU's health. */
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

/* What a host said about one of its GPUs, or about itself. */
struct fleet_said {
    struct finding first;        /* what matters most; its headline is "" where the database has none */
    char code[32];               /* of `first`, as the host wrote it: a newer whirr has codes of its own; "": nothing was said */
    char process[PROCESS_WORDS]; /* that `first` is about; "" none */
    enum health_effect effect;   /* the worst of all findings */
    bool forbids, held;          /* one of them forbids to place work; memory is held and nothing computed, for long */
};

/* Of a divided GPU (MIG), as far as the database knows them. */
struct fleet_instance {
    char uuid[GPU_UUID_SIZE], profile[GPU_TEXT_SIZE];
    struct reading free_bytes, util_permille;
    uint32_t next; /* of the same GPU, counted from 1; 0: this is the last one */
};

struct fleet_gpu {
    char host[HOST_NAME_SIZE];
    char gpu[16]; /* its index; "" for one that is gone */
    char uuid[GPU_UUID_SIZE], name[GPU_NAME_SIZE];
    char instance[HOST_NAME_SIZE]; /* the address that it is scraped at; "" not known */
    bool up;
    struct reading util_permille, used_bytes, total_bytes, free_bytes, temp_mdegc, power_mw;
    bool divided;                                            /* into instances (MIG): work is placed on one of them */
    uint32_t first_instance;                                 /* counted from 1; 0: none is known */
    struct reading instance_free_bytes, instance_most_bytes; /* the most free in one of them; the size of the largest */
    struct fleet_said said;
    enum fleet_state state;
};

/* A host of which more is known than its GPUs: it said something about itself, or it has fallen silent. */
struct fleet_note {
    char host[HOST_NAME_SIZE];
    struct fleet_said said;
    bool silent;
    int64_t silent_ms;     /* for how long; 0: not known */
    bool expected_only;    /* by the settings alone: it was never seen, or long ago */
    int64_t expected_gpus; /* by the settings; -1: they don't say */
    int64_t ahead_ms;      /* its clock against the database's; 0: that is as it should be, or not known */
};

/* A host's GPUs added up by the host itself. */
struct fleet_sum {
    char host[HOST_NAME_SIZE];
    char set[24]; /* of its GPUs: differs between two hosts of one name */
    struct reading gpus, judged, util_known, util_permille, used_bytes, total_bytes, held_bytes, temp_mdegc, power_mw;
};

struct fleet_process {
    char host[HOST_NAME_SIZE], gpu[16];
    char process[PROCESS_NAME_SIZE], user[PROCESS_USER_SIZE], container[PROCESS_CONTAINER_NAME_SIZE];
    char pod[PROCESS_CONTAINER_NAME_SIZE], job[PROCESS_JOB_SIZE]; /* "NAMESPACE/POD"; "": none */
    char uuid[GPU_UUID_SIZE];                                     /* of the GPU; "" not known */
    uint32_t instance;                                            /* which way it came, where a host can be seen in several */
    struct reading mem_bytes, util_permille, power_mw;
    enum limit limit; /* what limited it most; LIMIT_UNJUDGED: not asked, or not known */
    int64_t limit_permille;
};

struct fleet {
    struct fleet_gpu *gpus; /* by host and index */
    size_t gpu_count;
    struct fleet_instance *instances;
    size_t instance_count, instance_capacity;
    struct fleet_sum *sums; /* by host; with them, `gpus` has those in trouble alone */
    size_t sum_count, sum_capacity;
    struct fleet_process *processes;
    size_t process_count;
    struct fleet_note *notes;
    size_t note_count, note_capacity;
    size_t silent;  /* how many of them are silent */
    size_t missing; /* GPUs that should be there, of hosts that are */
    size_t clocks_off;
    struct wall at; /* of the answer, by the clock here */
    bool simulated; /* what was added up here */
    uint32_t *slots;
    size_t slot_count;
};

/* What a caller wants to know: how hosts do, where memory is free, who runs what. A database of a thousand hosts takes a tenth of a
 * second for each figure of their GPUs. */
enum fleet_want {
    FLEET_WANT_HOSTS = 1 << 0,
    FLEET_WANT_ROOM = 1 << 1,
    FLEET_WANT_PROCESSES = 1 << 2,
    FLEET_WANT_LIMITS = 1 << 3,                           /* of the processes of jobs */
    FLEET_WANT_SUMS = 1 << 4,                             /* hosts, by what they add up themselves */
    FLEET_WANT_GPUS = FLEET_WANT_HOSTS | FLEET_WANT_ROOM, /* all that is known of a GPU */
    FLEET_WANT_ALL = FLEET_WANT_GPUS | FLEET_WANT_PROCESSES
};

struct fleet_bill;
struct config_list;
struct config_fleet;
struct http_peer;
struct fleet_place {
    const struct env *env;
    const char *url; /* of Prometheus, VictoriaMetrics, ...: in front of /api/v1; or postgresql://... */
    int64_t timeout_ms;
    const struct config_fleet *settings; /* what should be there, and how the database is asked; NULL: nothing is known */
    const _Atomic bool *cancel;          /* becomes true: what is under way is given up within about a second; may be NULL */
};

enum { FLEET_ANSWER_MAX = 1 << 30, FLEET_SENTENCE = 512 };
/* What follows /api/v1/ as it is, percent-encoded already; the body is appended. 0, -EIO when the database refused, or -errno with
 * a sentence. */
int fleet_get(const struct fleet_place *place, const char *path, struct buf *answer, struct error *err);
/* One question in PromQL. */
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

uint64_t fleet_hash(const char *a, const char *b, const char *c);
/* GPUs, and processes, that were added in any order. */
int fleet_index(struct fleet *f);
void fleet_join_processes(struct fleet *f);
/* After fleet_index(); NULL: there is none. */
struct fleet_gpu *fleet_find(const struct fleet *f, const char *host, const char *gpu, const char *uuid);
/* The same; one that is not there yet is added, as one that works. fleet_index() is due again. NULL: out of memory. */
struct fleet_gpu *fleet_find_or_add(struct fleet *f, size_t *capacity, const char *host, const char *gpu, const char *uuid);
const struct fleet_sum *fleet_sum_of(const struct fleet *f, const char *host); /* NULL: none */
/* A finding as it stands in a database; a newer whirr may have written it. */
struct fleet_finding {
    const char *code, *process, *headline;
    enum severity severity;
    double confidence;
    bool held; /* for as long as its kind takes to be worth a message */
};
/* Whatever comes first in the one ranking stays. */
void fleet_said_add(struct fleet_said *said, const struct fleet_finding *finding);
/* The note of a host, a new one where there is none yet; NULL: out of memory. */
struct fleet_note *fleet_note_of(struct fleet *f, const char *host);
/* What the fleet judges for itself about a host. */
void fleet_note_say(struct fleet_note *n, const char *code, enum health_effect effect, const char *headline);
/* A host's clock against the database's: of several that are known the one that is off most. 0 or -ENOMEM. */
int fleet_compare_clock(struct fleet *f, const char *host, int64_t ahead_ms);
void fleet_settle_clocks(struct fleet *f);
/* Whether the host is there: one of its GPUs is known. */
bool fleet_has_gpus(const struct fleet *f, const char *host);
/* Hosts that share a name, told apart by the UUIDs of their GPUs. 0 or -ENOMEM. */
int fleet_tell_names_apart(struct fleet *f);
/* What `fleet.expect` names and is not there. 0 or -ENOMEM. */
int fleet_expect(struct fleet *f, const struct config_list *expect);
/* After the last answer: states, and which hosts are silent. */
void fleet_settle(struct fleet *f);

/* A host of the fleet, with its GPUs. */
struct fleet_host {
    const char *name;
    const struct fleet_gpu *gpus;   /* NULL: none */
    size_t count;                   /* of these */
    size_t all;                     /* how many it has; more where only those in trouble were asked for */
    const struct fleet_sum *sum;    /* NULL: all are there */
    const struct fleet_note *said;  /* NULL: nothing about the host itself */
    const struct fleet_said *first; /* what matters most of all */
    enum fleet_state state;
    struct reading util_permille, used_bytes, total_bytes, temp_mdegc, power_mw; /* mean; sums; highest; sum */
    char note[FINDING_HEADLINE_SIZE + 64];                                       /* the worst, in words; "" nothing */
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
    const char *user; /* only this one's processes; NULL: those of all users */
    enum fleet_by by;
    const char *job;    /* of why: this one only; NULL: all hosts */
    int64_t size_bytes; /* of fit */
};

enum { FLEET_ROWS = 40 };

void fleet_table_status(struct buf *out, const struct page *page, const struct fleet *f, const struct fleet_view *v);
void fleet_table_why(struct buf *out, const struct page *page, const struct fleet *f, const struct fleet_view *v);
void fleet_table_ps(struct buf *out, const struct page *page, const struct fleet *f, const struct fleet_view *v);
/* True: a process of the job is there. */
bool fleet_table_job(struct buf *out, const struct page *page, const struct fleet *f, const struct fleet_view *v);
/* True: it fits somewhere. */
bool fleet_table_fit(struct buf *out, const struct page *page, const struct fleet *f, const struct fleet_view *v);

void fleet_json_status(struct json_writer *j, const struct fleet *f);
void fleet_json_why(struct json_writer *j, const struct fleet *f);
void fleet_json_ps(struct json_writer *j, const struct fleet *f, const struct fleet_view *v);
bool fleet_json_job(struct json_writer *j, const struct fleet *f, const struct fleet_view *v);
bool fleet_json_fit(struct json_writer *j, const struct fleet *f, const struct fleet_view *v);

/* ---- Energy and its cost over a span, by host (the GPUs' own counters) or by user, container, pod or job (power of processes over
 * time).
 * ---- */

struct fleet_energy {
    char name[PROCESS_CONTAINER_NAME_SIZE]; /* "": what belongs to none */
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

/* A copy of the settings for a thread that outlives a reload. */
struct fleet_settings;
struct fleet_settings *fleet_settings_new(const struct config_fleet *from); /* NULL: out of memory */
struct fleet_settings *fleet_settings_ref(struct fleet_settings *s);
void fleet_settings_unref(struct fleet_settings *s); /* NULL is fine */
const struct config_fleet *fleet_settings_of(const struct fleet_settings *s);

/* GET /api/fleet of a daemon. */
extern const struct part_ops fleet_part_ops;

/* Numbers of a cell, without their unit: "12/80" and "1.5" GiB, "250" W. */
void fleet_show_used(char text[NUMBER_SIZE], const struct page *page, struct reading used, struct reading total);
void fleet_show_gib(char text[NUMBER_SIZE], const struct page *page, struct reading bytes);
void fleet_show_watts(char text[NUMBER_SIZE], const struct page *page, struct reading mw);

/* One sentence about the whole. */
void fleet_answer(const struct fleet *f, char *text, size_t size);
/* "not_judged", "failing": for JSON and filters. */
const char *fleet_state_name(enum fleet_state state);
/* What the host said about this GPU, in a sentence without a full stop; "" nothing. */
void fleet_headline(const struct fleet_gpu *g, char *text, size_t size);

/* Whether work may be put on it. */
bool fleet_is_usable(const struct fleet_gpu *g);
/* An instance of the GPU, added where it is not there yet. NULL: out of memory. */
struct fleet_instance *fleet_instance_of(struct fleet *f, struct fleet_gpu *g, const char *uuid, const char *profile);
/* How much is free in one piece. */
struct reading fleet_room(const struct fleet_gpu *g);
/* Of how many GPUs that could be used the free memory is not known: so much may fit there. */
size_t fleet_unknown_room(const struct fleet *f, int64_t bytes);
/* Where this much is free: GPUs, and instances of divided ones, which have their own UUID, name and memory. The tightest fit first,
 * idle ones before busy ones. The caller frees the list. */
struct fleet_gpu *fleet_fitting(const struct fleet *f, int64_t bytes, size_t *count);
/* What a group is called: the user, the container, the pod, the job or the host. */
const char *fleet_key(const struct fleet_process *p, enum fleet_by by);
/* "NAMESPACE/POD", "" without a pod. */
void fleet_pod_name(const char *space, const char *pod, char *to, size_t size);
/* Processes of one user, or of all users, most memory first; with `by`: added up, `process` and `host` hold numbers then. The
 * caller frees the list. */
struct fleet_process *fleet_processes(const struct fleet *f, const struct fleet_view *v, size_t *count);
