/* SPDX-License-Identifier: Apache-2.0
 * Shared by the files of the NVML source: the source and its cards.
 *
 *   nvml.c          open, list, refresh, sample; events; doctor
 *   nvml_library.c  the function table, nvmlInit and nvmlShutdown
 *   nvml_cards.c    which cards there are, their handles and identity
 *   outside.c       what sysfs and NVIDIA_VISIBLE_DEVICES say without NVML
 *   nvml_query.c    one call, one or several metrics; remembers what is unsupported; static properties
 *   nvml_fields.c   metrics by field number, many in one call; the driver's record of the last seconds
 *   nvapi.c         what NVML lacks on GeForce, on request
 *   gpm.c           profiling metrics between two samples
 *   nvml_process.c  who is on the card, and how much each does
 *   mig.c           instances
 *   nvml_control.c  settings: the only file that changes anything
 *
 * UUID and PCI address identify a card, never its index: a lost card renumbers the others.
 */
#pragma once

#include "base/env.h"
#include "base/error.h"
#include "base/file.h"
#include "source/nvml/abi.h"
#include "source/nvml/outside.h"
#include "source/source.h"
#include "source/sysfs/sensors.h"

/* ---- NVIDIA's library as a table of function pointers, any of which may be NULL. Opened once, never unloaded ---- */

struct nvml_library {
    void *handle;
    char place[PATH_SIZE]; /* where it was found; "": by the loader */
    const char *(*error_string)(int);
#define CALL(slot, parameters, ...) int(*slot) parameters;
#include "source/nvml/calls.def"
#undef CALL
};

/* -ENODEV: the library is missing or lacks essential functions. */
int nvml_library_open(struct nvml_library *lib, const struct env *env, struct error *err);

/* The call, or NVML_FUNCTION_NOT_FOUND if this version of the library lacks it. */
#define NVML(n, which, ...) ((n)->lib.which ? (n)->lib.which(__VA_ARGS__) : NVML_FUNCTION_NOT_FOUND)

/* The driver's message for a return code. */
const char *nvml_words(const struct nvml_library *lib, int code);

/* Functions missing in this version of the library, by their newest names, separated by ", ". */
void nvml_library_missing(const struct nvml_library *lib, struct buf *out);

enum {
    NVML_FAST_MAX = 48, /* rows of the two query tables */
    NVML_SLOW_MAX = 80,
    NVML_FIELDS_MAX = 32,
    NVML_ENTRIES_MAX = 16384, /* maximum rows of a process list; more means a broken driver */
    NVML_LOADS_MAX = 1024,    /* processes whose last utilization is kept */
    NVML_GPM_METRICS = 13,
};

/* The last utilization reported for a process. */
struct nvml_load {
    unsigned pid;
    unsigned long long timestamp; /* the driver's clock, us */
    struct mono seen;
    unsigned char sm, mem, enc, dec; /* percent */
};

/* Two profiling samples of a card or an instance. */
struct nvml_gpm {
    nvml_gpm_sample samples[2];
    int newest;        /* index of the newest; -1: none yet */
    struct mono taken; /* time of the newest */
    bool refused;
    unsigned char wanted[NVML_GPM_METRICS]; /* 0: this driver lacks it */
    bool known;                             /* the values below come from two samples */
    struct mono engine_asked;               /* when the activity of the engine was last compared */
    struct reading values[NVML_GPM_METRICS];
};

struct nvml_instance {
    nvml_device handle;
    char uuid[GPU_UUID_SIZE];
    char name[GPU_NAME_SIZE];
    char profile[GPU_TEXT_SIZE];
    unsigned gpu_instance, compute_instance;
    struct reading multiprocessors;
    struct nvml_gpm gpm;
};

/* A driver counter from which we compute a rate. */
struct nvml_counter {
    struct mono at;
    unsigned long long value;
    bool known, refused;
};

/* PCIe bytes since we started watching: only what the driver, or the card between two profiling samples, has counted. */
struct nvml_traffic {
    bool counts;
    int64_t bytes;
};

enum nvml_process_list { LIST_COMPUTE, LIST_GRAPHICS, LIST_MPS, LIST_COUNT };

/* Processes at the last query of the lists: valid until something shows that one came or went. */
struct nvml_present {
    bool known;
    struct mono asked;
    struct reading memory; /* of the whole card, at that time */
    enum reading_state state;
    struct nvml_present_row *rows;
    size_t count, room;
};

struct nvml_card {
    struct gpu_id id;
    int nvml_index;     /* -1: found in sysfs while asleep */
    nvml_device handle; /* NULL: asleep, lost, or NVML is closed */
    int trouble;        /* NVML_OK, or why the card is unreadable */
    struct mono retried;
    bool asleep;
    bool resting; /* awake, but left alone so that it can fall asleep */
    bool never_sleeps;
    struct mono idle_since, rest_until, rest_again;
    int rests_in_vain;
    bool shared_memory;
    bool memory_checked;
    bool sampled; /* at least once since it was attached */

    /* Calls answered "not supported" or "not permitted", remembered to avoid asking again; NVML_OK: ask. */
    int refused_query[NVML_FAST_MAX + NVML_SLOW_MAX];
    int refused_field[NVML_FIELDS_MAX];
    int refused_list[LIST_COUNT];
    int refused_utilization;
    int fan_count;                      /* -1: not queried yet */
    int power_way;                      /* which of the power calls works */
    bool memory_v1;                     /* the newer memory call is refused */
    struct reading margin, margin_temp; /* last margin, and the temperature at that time */

    struct nvml_counter pcie_tx, pcie_rx, nvlink_tx, nvlink_rx;
    struct nvml_traffic sent, received;
    struct nvml_gpm gpm;

    bool mig_known, mig_enabled, mig_pending, mig_refused;
    struct nvml_instance *instances;
    size_t instance_count;

    struct nvml_present present;
    unsigned long long last_seen; /* newest timestamp of process utilization */
    struct mono loads_asked;      /* when the driver was last asked for loads */
    struct reading loads_util;    /* the GPU's utilization then */
    unsigned loads_of;            /* fingerprint of the card's processes then */
    bool loads_known;
    struct nvml_load *loads;
    size_t load_count;

    bool events_registered;
    struct reading xid_last;
};

struct nvml {
    struct source source;
    const struct env *env;
    struct nvml_library lib;
    bool running; /* between nvmlInit and nvmlShutdown */
    bool restart; /* the library claims that it was never initialized */
    bool changed;
    unsigned refreshes;
    enum nvml_visible_kind visible;
    size_t total;  /* all cards, shown or not */
    size_t hidden; /* cards hidden by NVIDIA_VISIBLE_DEVICES */
    struct driver_info driver;

    struct nvml_card *cards;
    size_t card_count;
    struct nvml_seen seen[GPU_MAX]; /* in sysfs, visible to us or not */
    size_t seen_count;

    char laptop_fan[LAPTOP_FAN_SIZE]; /* file of hwmon; "" none */
    bool laptop_fan_looked;
    nvml_event_set events;
    bool events_refused;
    struct nvml_gpm_request *gpm_request; /* 13 KiB, shared by all cards */
    struct nvapi *nvapi;                  /* NULL: not asked for, or not yet */
    void *entries;                        /* scratch for process lists */
    size_t entries_size;
};

/* A command that ends before a second sample. */
static inline bool is_one_look(unsigned groups)
{
    return (groups & GROUP_PAST) || !(groups & ~(unsigned)GROUP_QUICK);
}

/* What return codes mean (nvml_query.c) */
enum reading_state nvml_reading_state(int code);
bool nvml_is_final(int code);   /* permanent: don't ask again */
bool nvml_is_trouble(int code); /* the whole card is affected */

/* nvml_library.c */
int session_start(struct nvml *n, struct error *err); /* 0 when it runs already */
void session_stop(struct nvml *n);

/* nvml_cards.c */
int find_cards(struct nvml *n, struct error *err);
void find_plugged(struct nvml *n); /* searches for hot-plugged cards */
void card_done(struct nvml *n, struct nvml_card *card);
void card_detach(struct nvml *n, struct nvml_card *card); /* drops the handle and NVML's allocations */
int card_attach(struct nvml *n, struct nvml_card *card);  /* NVML return code; fills the identity */
void card_forget_refusals(struct nvml_card *card);
void card_fail(struct nvml *n, struct nvml_card *card, int code);
/* Adds the bytes counted since the last time, if the metric is a PCIe rate. */
void card_count_traffic(struct nvml_card *card, enum metric rate, int64_t bytes);

/* outside.c */
void sleep_driver_version(const struct env *env, char *version, size_t size); /* without NVML */
void sleep_update(struct nvml *n, struct nvml_card *card);
void sleep_note(struct nvml *n, struct nvml_card *card, const struct gpu *out);
bool sleep_find_new(struct nvml *n, char address[GPU_PCI_SIZE]); /* true: a card was hot-plugged */

#define QUERY_ABSENT INT64_MIN /* among several values: this one is unsupported */

/* Each reads its part of `groups` into `out`. False: the card is in trouble; skip the rest. */
bool query_run(struct nvml *n, struct nvml_card *card, unsigned groups, struct gpu *out);
void query_describe(const struct nvml *n, const struct nvml_card *card, struct buf *out);
bool fields_run(struct nvml *n, struct nvml_card *card, unsigned groups, struct gpu *out);
void fields_describe(const struct nvml *n, const struct nvml_card *card, struct buf *out);
int field_read(struct nvml *n, struct nvml_card *card, unsigned field, unsigned scope, int64_t *ret);
/* Two fields in one call, at the cost of one. The second may be missing: QUERY_ABSENT. */
int field_read_beside(struct nvml *n, struct nvml_card *card, unsigned field, unsigned beside, unsigned scope, int64_t *ret);
void nvapi_refresh(struct nvml *n); /* opens the library, or closes it while a card may not be touched */
void nvapi_run(struct nvml *n, struct nvml_card *card, unsigned groups, struct gpu *out);
void nvapi_describe(const struct nvml *n, struct buf *out);
void nvapi_close(struct nvml *n);
void nvapi_done(struct nvml *n);
void about_run(struct nvml *n, struct nvml_card *card, struct gpu *out);
bool gpm_run(struct nvml *n, struct nvml_card *card, unsigned groups, struct gpu *out);
void gpm_run_instance(struct nvml *n, struct nvml_card *card, struct nvml_instance *instance, unsigned groups, struct gpu *out);
void gpm_done(struct nvml *n, struct nvml_gpm *gpm);
bool process_run(struct nvml *n, struct nvml_card *card, unsigned groups, struct gpu *out);
size_t process_entry_size(const struct nvml_library *lib, int *ret_version);
/* The driver's record of the last seconds, into out->before; empty if it keeps none. */
void past_run(struct nvml *n, struct nvml_card *card, struct gpu *out);
bool utilization_run(struct nvml *n, struct nvml_card *card, unsigned groups, struct gpu *out);
bool mig_update(struct nvml *n, struct nvml_card *card, unsigned groups);
void mig_run(struct nvml *n, struct nvml_card *card, unsigned groups, struct gpu *out);
void mig_done(struct nvml *n, struct nvml_card *card);
void mig_place_process(const struct nvml_card *card, unsigned gpu_instance, unsigned compute_instance, struct process *p);
void events_done(struct nvml *n);
