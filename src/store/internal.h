/* SPDX-License-Identifier: Apache-2.0
 * Declarations that the files of store/ share. Private to store/.
 */
#pragma once

#include <sys/types.h>

#include "insight/baseline/changes.h"
#include "model/energy.h"
#include "model/finding.h"
#include "store/db/db.h"
#include "store/schema/schema.h"
#include "store/store.h"

/* The time, as far as a database may believe it before it deletes anything. Pure functions of plain data; knows no database.
 *
 * A wall clock can be wrong by seconds or years, in both directions, for a moment or for days. The time that a running program has
 * seen pass can't be wrong. So `believed` advances with that time alone; where the clock disagrees (it was set, the host was off,
 * a virtual machine was restored), that is a claim, and a claim is believed once it has held for hours of seen time.
 *
 *   clock      ───────────┐ +30 d ┌──────────────        a leap that is undone: never believed, nothing is deleted
 *   believed   ───────────────────────────────────
 *
 *   clock      ─────      off 3 weeks     ┌───────────────────────
 *   believed   ─────                      ────── held for hours ──┘ */

struct clock_trust {
    int64_t believed_ms; /* since 1970; 0: unknown yet */
    int64_t claim_ms;    /* what the clock claims instead, advanced with seen time; 0: nothing */
    int64_t held_ms;     /* how much seen time the claim has held */
};

/* Starts with a database: newest_ms is its newest row (0: empty), or what other hosts believe. */
struct clock_trust trust_begin(int64_t wall_ms, int64_t newest_ms);

/* `passed_ms` have been seen to pass since the last step (0 after a restart), and the clock now shows wall_ms. */
void trust_step(struct clock_trust *t, int64_t wall_ms, int64_t passed_ms);

/* The time that decides which rows are old: never later than the clock or the believed time. */
int64_t trust_now(const struct clock_trust *t, int64_t wall_ms);

/* How much longer the clock must hold to be believed; 0: it is. */
int64_t trust_wait(const struct clock_trust *t, int64_t wall_ms);

/* The time on which several witnesses agree: the lower median, so that no single one moves it far. Sorts them. */
int64_t trust_of_many(int64_t *times_ms, size_t count);

enum {
    PROCESS_RUNS_MAX = 4096,      /* processes on GPUs at the same time; further ones are not tracked */
    RUN_CHAINS = 1024,            /* hash chains of the runs */
    ROLLUP_BUCKETS_A_WRITE = 256, /* spreads catching up after a long stop over several writes */
    OPEN_FINDINGS_MAX = 4096,     /* at the same time */
    SAME_MOMENT_TRIES = 16,
    IDENTITY_SIZE = GPU_UUID_SIZE + GPU_PCI_SIZE + GPU_NAME_SIZE + 16,
};

/* A row of minutes or hours while it is computed. */
struct bucket_row {
    int64_t samples;
    struct aggregate columns[SERIES_COLUMNS_MAX]; /* in schema order */
};

/* The current bucket of a GPU or host. If all of its rows came through this process, it can be summed up from memory. */
struct running_bucket {
    int64_t bucket; /* -1: none */
    int64_t newest; /* the newest bucket with rows, here or in the database; -1: unknown yet */
    bool whole;     /* `row` covers the whole bucket */
    struct bucket_row *row;
};

struct running {
    struct running_bucket minute;
    struct running_bucket hour;
    bool marked;         /* the minute has its pending mark in the database, at the latest when the transaction ends */
    int64_t hour_marked; /* the newest marked hour; -1: none */
    int64_t hour_minute; /* the last minute added to the hour */
    int64_t last_ms;     /* time of the previous row */
};

/* A bucket with rows below it that are not summed up yet: a row of the table pending. */
struct mark {
    enum series series;
    enum level level;
    int64_t subject, bucket;
};

/* The minimum length of a minute for its mean power: a few seconds are too short. */
enum { PASSED_MIN_MS = 20000 };

struct energy_share {
    int64_t minute, energy_mj, attributed_mj;
    enum energy_evidence evidence;
};

/* A GPU and its row in the database. */
struct known_gpu {
    char identity[IDENTITY_SIZE];
    int64_t id;
    int index;
    struct gpu_id shown;                                /* as last written */
    uint64_t facts_hash[METRIC_COUNT + PROPERTY_COUNT]; /* hashes of the values last written; 0: none yet */
    struct reading facts[METRIC_COUNT];                 /* as last written, to detect changes without formatting; contiguous */
    struct property_text properties[PROPERTY_COUNT];
    struct change_watch watch;
    int state, processes_state; /* as last written; -1: not yet */
    int64_t largest_instance;   /* as last written; -1: not partitioned */
    int64_t seen_ms;            /* to write at the end of the transaction; 0: written */
    struct running running;
    struct energy_meter meter;
    struct energy_share energy;
    int64_t rest_owed_mj; /* idle energy still to be deducted from the energy of its work */
};

/* What a process used, in one minute or in total, and is not written yet. Flushed at the end of each transaction. */
struct run_share {
    int64_t minute, last_ms, samples;
    int64_t memory_max, memory_sum, memory_count, sm_sum, sm_count, energy_mj;
    struct reading parked;                      /* of that energy, what its open context cost */
    struct reading generated, prompt, requests; /* tokens, and answered requests; only for minutes, as are: */
    struct reading running, working;            /* requests in progress, summed over the samples; samples with at least one */
};

/* How many samples of a minute each limit held; some may be written already. */
struct run_limits {
    int64_t minute;
    uint16_t samples[LIMIT_COUNT];
};

struct process_run {
    int64_t id;
    int64_t gpu_id;
    int32_t pid;
    int64_t start_key;
    uint16_t next;                              /* next in its chain, as in run_chains */
    bool seen;                                  /* in the current snapshot */
    bool named, in_job;                         /* the names of its container and its job are stored */
    bool with_model;                            /* and that of its model */
    struct reading generated, prompt, requests; /* counters of its server so far */
    struct run_share share;                     /* the current minute */
    struct run_share whole;                     /* previous minutes of this transaction */
    struct run_limits limits;
};

/* A present or just vanished finding, and its row; findings.c. */
struct open_finding {
    int64_t id;
    int64_t gpu_id;     /* 0: about the host */
    int64_t process_id; /* 0: about no process, or one that is not stored */
    int32_t pid;
    int64_t start_key; /* of the process, if stored */
    finding_code code;
    enum severity worst, now;
    int64_t confidence_permille;                     /* at its worst */
    int64_t first_ms, last_ms, worst_ms, written_ms; /* samples that had it; written_ms: the last one in its row */
    int64_t samples, util_sum, util_count, power_sum, power_count;
    struct reading temp_max_mdegc;
    bool from_before;                     /* loaded from the database, and not seen since */
    bool changed;                         /* the present severity is not in the row yet */
    char headline[FINDING_HEADLINE_SIZE]; /* to write; "": nothing new */
};

/* The host's view of the time, and what the database keeps; retention.c. */
struct retention {
    int64_t host_id; /* the owner; 0: nothing loaded yet */
    struct clock_trust trust;
    struct mono stepped, saved, asked, rest_until;
    int64_t wall_ms;          /* at the last step */
    int64_t own_ms;           /* the time according to this host alone */
    int64_t newest_ms;        /* newest row in the database before this process wrote any; 0: none */
    int64_t now_ms;           /* the time that decides which rows are old; set, like the rest, by retention_ask */
    struct store_limits keep; /* the longest that any host wants */
    bool unknown;             /* some host has not stated its limits yet: delete nothing by age */
    bool due;                 /* clean at once: the limits changed */
    int64_t cleaned_ms;       /* own_ms at the last complete cleanup */
    int64_t healed_ms;
};

/* Statements that are prepared once. Those with the series' columns are prepared again when columns are added. */
enum statement {
    ST_GPU_FIND,
    ST_GPU_ADOPT,
    ST_GPU_INSERT,
    ST_GPU_UPDATE,
    ST_HOST_FIND,
    ST_HOST_INSERT,
    ST_HOST_SEEN,
    ST_GPU_SEEN,
    ST_WRITER,
    ST_FACT,
    ST_PENDING,
    ST_PENDING_DONE,
    ST_MARKS,
    ST_OVERDUE,
    ST_EVENT,
    ST_FINDING_BEGIN,
    ST_FINDING_STATE,
    ST_FINDING_WORSE,
    ST_RUN_FIND,
    ST_RUN_INSERT,
    ST_RUN_UPDATE,
    ST_RUN_NAME,
    ST_RUN_END,
    ST_PROCESS_MINUTE,
    ST_ENERGY,
    ST_HOURS_MARKS,
    /* Those of process_hours.c, which builds their text; in the order in which they sum up an hour. */
    ST_HOUR_FORGET_PROCESSES,
    ST_HOUR_FORGET_ENERGY,
    ST_HOUR_PROCESSES,
    ST_HOUR_ENERGY,
    ST_HOUR_DONE,
    ST_COUNT
};

struct store {
    struct db *db;
    struct schema schema;
    struct store_limits limits;
    char host_name[HOST_NAME_SIZE]; /* "" until the first snapshot, unless the options name the host */
    bool host_given, one_host;
    char was_name[HOST_NAME_SIZE]; /* what it was called before; "": nothing else */
    int64_t host_id;               /* 0: unknown yet */
    struct running host_running;   /* for the host's own series */
    struct known_gpu *gpus;
    size_t gpu_count, gpu_next; /* gpu_next: the probable position of the next GPU of a sample */
    struct process_run *runs;
    size_t run_count;
    uint16_t run_chains[RUN_CHAINS]; /* first run of each chain, counted from 1; 0: empty */
    bool runs_loaded;
    struct process_run *here[GPU_PROCESSES_MAX]; /* runs of the current GPU's processes, in their order; NULL: not tracked */
    struct open_finding *open_findings;
    size_t open_count, open_next; /* open_next: like gpu_next */
    bool findings_loaded;
    int64_t begun_hour; /* the hour in which begun_count episodes began */
    size_t begun_count;
    enum source_state source_states[SOURCES_MAX];
    char source_names[SOURCES_MAX][SOURCE_NAME_SIZE];
    size_t source_count;
    int64_t horizon_ms[SERIES_COUNT][LEVEL_COUNT]; /* older rows were cleaned up */
    struct retention retention;
    uint64_t rejected;
    int64_t last_moment_ms; /* of the last written snapshot */
    int64_t marked_hour;    /* the newest hour that hours_mark has marked */
    int64_t hours_checked;  /* the minute in which hours_rollup last ran, */
    int64_t hours_done;     /* and the hour before which it left nothing pending; 0: unknown */
    int64_t seen_minute;    /* when last_seen of the host and its GPUs was last updated */
    int64_t seen_ms;        /* of the host; like seen_ms of a GPU */
    int64_t rolled_bucket;  /* the minute in which rollup_pending last ran */
    bool rollup_left;       /* and left some marks for the next write */
    int64_t marks_hour;     /* the hour in which it last read the marks; 0: there may be more than those of the running minutes */
    int64_t partition_ms[PARTED_COUNT]; /* the period whose partition is known to exist; PostgreSQL only */
    char (*parts)[PART_NAME_SIZE];      /* partitions of minutes and hours that readers may query by name */
    size_t part_count, part_capacity;
    bool over_size; /* cleaning because the file was too large */
    struct db_statement *statements[ST_COUNT];
    struct db_statement *insert_sample[SERIES_COUNT];
    struct reading bound[SERIES_COUNT][SERIES_COLUMNS_MAX]; /* the last written row, whose values the insert still has bound, */
    size_t bound_count[SERIES_COUNT];                       /* in that many columns */
    struct db_statement *read_raw[SERIES_COUNT], *find_raw[SERIES_COUNT];
    struct db_statement *read_buckets[SERIES_COUNT][LEVEL_COUNT], *insert_bucket[SERIES_COUNT][LEVEL_COUNT],
        *delete_bucket[SERIES_COUNT][LEVEL_COUNT];
    int64_t delete_period_ms[SERIES_COUNT][LEVEL_COUNT]; /* period of its partition */
    const struct env *env;
    char *url;       /* to open it again; may be NULL */
    char path[512];  /* of an SQLite file */
    uint64_t device; /* identity of that file when it was opened; */
    uint64_t inode;  /* 0: unknown */
    int64_t file_bytes;
};

/* A prepared statement; NULL and err on failure. */
struct db_statement *store_statement(struct store *s, enum statement which, struct error *err);
/* Runs one for its effect, with these numbers as its parameters. */
int store_put_list(struct store *s, enum statement which, struct error *err, const int64_t *numbers, size_t count);
#define store_put(s, which, err, ...) store_put_list((s), (which), (err), NUMBERS(__VA_ARGS__))
/* Drops the statements that depend on the columns. */
void store_forget_columns(struct store *s);

int identify_gpu(struct store *s, const struct host *host, const struct gpu *gpu, int64_t at_ms, struct known_gpu **ret,
                 struct error *err);
int process_runs_write(struct store *s, const struct snapshot *snapshot, const struct gpu *gpu, struct known_gpu *known,
                       struct error *err);
/* Books what the counter added while the GPU wasn't watched: a pause, a suspend, a driver that didn't answer. */
int process_runs_end_missing(struct store *s, const struct snapshot *snapshot, struct error *err);
int process_runs_flush(struct store *s, struct error *err);
void process_runs_forget(struct store *s);
/* The run of the process that a finding is about; NULL: none, or not stored. While the kernel reuses a PID, both processes have
 * a run: prefers the one in the current snapshot. gpu_id 0: on any GPU. */
const struct process_run *process_runs_about(const struct store *s, int64_t gpu_id, int32_t pid);
/* hours_mark marks the hour of a minute as pending; hours_rollup sums up the marked hours that are over. */
int hours_mark(struct store *s, int64_t minute, struct error *err);
int hours_rollup(struct store *s, int64_t now_ms, struct error *err);
/* days_begin: call before changing hours. days_from: the first day from which all days are complete. days_fill adds a missing
 * day; 1: there may be more. */
int days_begin(struct store *s, struct error *err);
int days_from(struct store *s, int64_t *ret, struct error *err);
int days_fill(struct store *s, struct error *err);
struct hour_segments;
struct buf;
/* Writes "(SELECT minute, process_id, samples, memory_max_bytes, ... )": rows like those of process_minutes; an hour counts as
 * its first minute. `host`: the parameter with the name of the host, such as "$2"; NULL: all hosts. It is a hint for the
 * planner: the caller's statement must join the host. `with_limits` adds the column `limits`, for store_next_limit. */
int store_process_rows(struct store *s, const struct hour_segments *segments, const char *host, bool with_limits, struct buf *sql,
                       struct error *err);
int rollup_pending(struct store *s, int64_t now_ms, struct error *err);
/* Adds a row whose bucket was summed up, and whose neighbors were deleted, before it arrived. */
int rollup_add_late(struct store *s, enum series series, const struct reading *one, int64_t subject_id, int64_t at_ms,
                    struct error *err);
/* Sums up the buckets of all hosts that are still marked before `bucket`. 1: it did some, and there may be more. */
int rollup_overdue(struct store *s, enum series series, enum level level, int64_t bucket, struct error *err);
void running_init(struct running *r);
void running_done(struct running *r);
int running_add(struct store *s, enum series series, const struct reading *row, int64_t subject_id, int64_t at_ms,
                struct error *err);
/* Whether a row of that moment may exist already. */
bool running_may_collide(struct store *s, enum series series, int64_t subject_id, int64_t at_ms);
/* Marks the running minutes that have no mark yet; call it before a transaction ends. */
int running_mark(struct store *s, struct error *err);
struct store_span;
/* Conditions on p (processes), g (gpus) and h (hosts); texts are parameters from `first` on. */
void store_which_runs(enum db_kind kind, const struct store_span *span, int first, struct buf *sql);
void store_bind_runs(struct db_statement *q, const struct store_span *span, int first);
/* PostgreSQL: makes sure that the partition of that moment exists. */
int partition_ready(struct store *s, enum parted which, int64_t at_ms, struct error *err);
/* Makes sure of the partitions of all tables, including those of the near future. */
int partition_all_ready(struct store *s, int64_t at_ms, struct error *err);
/* Forgets which partitions exist, so that they are queried again. */
void partition_forget(struct store *s);
/* The oldest partition, if it ends before the period of the cut: its name, or "". */
int partition_oldest(struct store *s, enum parted which, int64_t cut_ms, char name[PART_NAME_SIZE], struct error *err);
int partition_drop(struct store *s, const char *name, struct error *err);
/* For readers: loads which partitions of samples, minutes and hours exist. */
int partition_load(struct store *s, struct error *err);
/* Whether a statement failed because it named a partition: it was just dropped, or the role may read the table but not its
 * partitions. Then it forgets all partitions, and the caller can query the table itself. */
bool partition_lost(struct store *s, int rc);
/* Finds the known partition with the rows from from_ms on: its name, and where it ends, at most *to_ms. For rows in no known
 * partition, query the table itself. */
bool partition_find(const struct store *s, enum parted which, int64_t from_ms, int64_t *to_ms, char name[PART_NAME_SIZE]);
/* The newest known partitions, newest first: future weeks, this one, and the one before. */
enum { PARTS_RECENT = 3 };
size_t partition_newest(const struct store *s, enum parted which, const char *names[PARTS_RECENT]);
/* findings_write takes the findings of a snapshot; findings_flush, called once per transaction, updates
 * their rows. */
int findings_write(struct store *s, const struct snapshot *snapshot, int64_t at_ms, struct error *err);
int findings_flush(struct store *s, struct error *err);
int put_fact(struct store *s, const struct known_gpu *known, const char *key, const char *value, int64_t at_ms, struct error *err);
/* Writes an event, with before and after, for each value that differs from the history. */
int write_changes(struct store *s, const struct host *host, const struct gpu *gpu, struct known_gpu *known, int64_t at_ms,
                  struct error *err);
int set_horizon(struct store *s, enum series series, enum level level, int64_t ms, struct error *err);
/* Updates the host's view of the time, in a transaction. 1: it may decide which rows are old, 0: not yet. */
int retention_step(struct store *s, struct wall now, struct mono seen, struct error *err);
/* Reads the times and limits of all hosts: for a host that is about to clean up. */
int retention_ask(struct store *s, struct error *err);
/* Nothing to do at the moment, known without asking a server. */
bool retention_rests(const struct store *s, struct mono seen);
/* Finds the newest row before any is written. */
int retention_open(struct store *s, struct error *err);
int load_horizons(struct store *s, struct error *err);
