/* SPDX-License-Identifier: Apache-2.0
 * What the files of the store share. Private to store/.
 */
#pragma once

#include <sys/types.h>

#include "insight/baseline/changes.h"
#include "model/energy.h"
#include "model/finding.h"
#include "store/db/db.h"
#include "store/schema/raw.h"
#include "store/schema/schema.h"
#include "store/schema/schema_parts.h"
#include "store/store.h"
#include "store/store_trust.h"

enum {
    PROCESS_RUNS_MAX = 4096,      /* processes on GPUs at the same time; further ones are not followed */
    RUN_CHAINS = 1024,            /* by which they are found */
    ROLLUP_BUCKETS_A_WRITE = 256, /* after a long stop, catching up is spread over several writes */
    OPEN_FINDINGS_MAX = 4096,     /* the same of findings */
    SAME_MOMENT_TRIES = 16,
    IDENTITY_SIZE = GPU_UUID_SIZE + GPU_PCI_SIZE + GPU_NAME_SIZE + 16,
};

/* One row of minutes or hours while it is computed. */
struct bucket_row {
    int64_t samples;
    struct aggregate columns[SERIES_COLUMNS_MAX]; /* in the schema's order */
};

/* The current bucket of a GPU or host. When everything in it came through this program, it need not be read back to be summed up.
 */
struct running_bucket {
    int64_t bucket; /* -1: none */
    int64_t newest; /* the newest that has anything, here or in the database; -1: not known yet */
    bool whole;     /* `row` is all there is of the bucket */
    struct bucket_row *row;
};

struct running {
    struct running_bucket minute;
    struct running_bucket hour;
    bool marked;         /* the minute is, as pending, in the database; at the latest when the transaction ends */
    int64_t hour_marked; /* the newest hour that is; -1: none */
    int64_t hour_minute; /* the last minute that was added to the hour */
    int64_t last_ms;     /* of the row before */
};

/* A bucket that has rows below it which are not summed up yet: a row of the table pending. */
struct mark {
    enum series series;
    enum level level;
    int64_t subject, bucket;
};

/* A minute of which less has passed says nothing of power yet: a few seconds are not a mean. */
enum { PASSED_LEAST_MS = 20000 };

struct energy_share {
    int64_t minute, energy_mj, attributed_mj;
    enum energy_evidence evidence;
};

/* A GPU as the database knows it. */
struct known_gpu {
    char identity[IDENTITY_SIZE];
    int64_t id;
    int index;
    struct gpu_id shown;                                /* as last written */
    uint64_t facts_hash[METRIC_COUNT + PROPERTY_COUNT]; /* of the values last written; 0 none yet */
    struct reading facts[METRIC_COUNT];                 /* as last written, to see changes without making text; side by side */
    struct property_text properties[PROPERTY_COUNT];
    struct change_watch watch;
    int state, processes_state; /* as last written; -1: not yet */
    int64_t largest_instance;   /* as last written; -1: it was not divided */
    int64_t seen_ms;            /* to be noted at the end of the transaction; 0: it is */
    struct running running;
    struct energy_meter meter;
    struct energy_share energy;
    int64_t rest_owed_mj; /* of what it uses at rest, still to be taken off what its work has used */
};

/* What a process has to its account, in one minute or in all, and is not written yet. Written at the end of each transaction. */
struct run_share {
    int64_t minute, last_ms, samples;
    int64_t memory_max, memory_sum, memory_count, sm_sum, sm_count, energy_mj;
    struct reading generated, prompt; /* tokens; of a minute alone, as are: */
    struct reading running, working;  /* requests that it was working on, over its samples; samples with one */
};

/* What limited a process in how many samples of a minute, of which some may be written already. */
struct run_limits {
    int64_t minute;
    uint16_t samples[LIMIT_COUNT];
};

struct process_run {
    int64_t id;
    int64_t gpu_id;
    int32_t pid;
    int64_t start_key;
    uint16_t next;                    /* of its chain, as run_chains */
    bool seen;                        /* in the snapshot at hand */
    bool named, in_job;               /* the name of its container, of its job, is stored */
    bool with_model;                  /* ..., of its model */
    struct reading generated, prompt; /* tokens that its server has counted so far */
    struct run_share share;           /* of the minute */
    struct run_share whole;           /* of those before it in this transaction */
    struct run_limits limits;
};

/* A finding that is there, or was a moment ago, and its row; finding_episodes.c. */
struct open_finding {
    int64_t id;
    int64_t gpu_id;     /* 0: of the host */
    int64_t process_id; /* 0: of no process, or of one that is not stored */
    int32_t pid;
    int64_t start_key; /* of the process, where it is stored */
    enum finding_code code;
    enum severity worst, now;
    int64_t confidence_permille;                     /* when it was worst */
    int64_t first_ms, last_ms, worst_ms, written_ms; /* samples that had it; the last one that its row knows of */
    int64_t samples, util_sum, util_count, power_sum, power_count;
    struct reading temp_max_mdegc;
    bool from_before;                     /* read from the database, and not seen again yet */
    bool changed;                         /* the severity of now is not in the row yet */
    char headline[FINDING_HEADLINE_SIZE]; /* to be written; "": nothing new */
};

/* What this host knows of the time, and what the database keeps; retention.c. */
struct retention {
    int64_t host_id; /* whose it is; 0: nothing was read yet */
    struct clock_trust trust;
    struct mono stepped, saved, asked, rest_until;
    int64_t wall_ms;          /* at the last step */
    int64_t own_ms;           /* what time it is by this host alone */
    int64_t newest_ms;        /* in the database before this program wrote to it; 0: nothing */
    int64_t now_ms;           /* by which rows are old: after retention_ask, as the rest of these */
    struct store_limits keep; /* the widest of what the hosts want */
    bool unknown;             /* what some host wants is not known yet: nothing goes by its age */
    bool due;                 /* at once: the limits changed */
    int64_t cleaned_ms;       /* everything was, at that time of its own */
    int64_t healed_ms;
};

/* Statements that are prepared once. Those with the series' columns are made again when columns come. */
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
    /* Of process_hours.c, which makes their text; in the order in which they sum up an hour. */
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
    char host_name[HOST_NAME_SIZE]; /* "" until the first snapshot, when the options do not say */
    bool host_given;
    int64_t host_id;             /* 0: not known yet */
    struct running host_running; /* of the host's own series */
    struct known_gpu *gpus;
    size_t gpu_count, gpu_next; /* next: where the next GPU of a sample probably is */
    struct process_run *runs;
    size_t run_count;
    uint16_t run_chains[RUN_CHAINS]; /* the first run of each, counted from 1; 0: it is empty */
    bool runs_loaded;
    struct process_run *here[GPU_PROCESSES_MAX]; /* of the processes of the GPU at hand, in their order; NULL: it is not followed */
    struct open_finding *open_findings;
    size_t open_count, open_next; /* next: as of the processes */
    bool findings_loaded;
    int64_t begun_hour; /* in which so many episodes began */
    size_t begun_count;
    enum source_state source_states[SOURCES_MAX];
    char source_names[SOURCES_MAX][SOURCE_NAME_SIZE];
    size_t source_count;
    int64_t horizon_ms[SERIES_COUNT][LEVEL_COUNT]; /* what is older was cleaned up */
    struct retention retention;
    uint64_t rejected;
    int64_t last_moment_ms;             /* of the snapshot written last */
    int64_t marked_hour;                /* the newest that hours_mark has marked; */
    int64_t hours_looked;               /* the minute in which hours_rollup ran last, */
    int64_t hours_done;                 /* and the hour before which it left nothing; 0: not known */
    int64_t seen_minute;                /* in which the host and its GPUs were last noted as seen */
    int64_t seen_ms;                    /* of the host: as that of a GPU */
    int64_t rolled_bucket;              /* the minute in which rollup_pending ran last */
    bool rollup_left;                   /* and did not come to the end */
    int64_t marks_hour;                 /* in which it last read the marks; 0: there may be others than of the running minutes */
    int64_t partition_ms[PARTED_COUNT]; /* the period whose part is known to be there; PostgreSQL only */
    char (*parts)[PART_NAME_SIZE];      /* of minutes and hours, by name: those that readers may read by themselves */
    size_t part_count, part_capacity;
    bool over_size; /* being cleaned because the file was too large */
    struct db_statement *statements[ST_COUNT];
    struct db_statement *insert_sample[SERIES_COUNT];
    struct reading bound[SERIES_COUNT][SERIES_COLUMNS_MAX]; /* the row written last, which it has bound: */
    size_t bound_count[SERIES_COUNT];                       /* that many columns */
    struct db_statement *read_raw[SERIES_COUNT], *find_raw[SERIES_COUNT];
    struct db_statement *read_buckets[SERIES_COUNT][LEVEL_COUNT], *insert_bucket[SERIES_COUNT][LEVEL_COUNT],
        *delete_bucket[SERIES_COUNT][LEVEL_COUNT];
    int64_t delete_period_ms[SERIES_COUNT][LEVEL_COUNT]; /* of the part that it is about */
    unsigned prepared_generation;
    const struct env *env;
    char *url;       /* to open it again; may be NULL */
    char path[512];  /* of an SQLite file */
    uint64_t device; /* and which one it was when it was opened; */
    uint64_t inode;  /* 0: not known */
    int64_t file_bytes;
};

/* A prepared statement of the table in statements.c; NULL and err on failure. */
struct db_statement *store_statement(struct store *s, enum statement which, struct error *err);
/* Drops what depends on the columns. */
void store_forget_columns(struct store *s);
/* Those of minutes and hours, each of which may take 200 KB, and those that did not run since the last time. */
void store_drop_idle(struct store *s);

int identify_gpu(struct store *s, const struct gpu *gpu, int64_t at_ms, struct known_gpu **ret, struct error *err);
int process_runs_write(struct store *s, const struct snapshot *snapshot, const struct gpu *gpu, struct known_gpu *known,
                       struct error *err);
/* What the GPU's own counter went on by before this program wrote anything. To be called with its first reading. */
int missed_energy_book(struct store *s, const struct snapshot *snapshot, const struct gpu *gpu, const struct known_gpu *known,
                       struct error *err);
/* ... and by while it was not watched: a pause, a suspend, a driver that did not answer. */
int missed_energy_spread(struct store *s, const struct gpu *gpu, int64_t gpu_id, const struct energy_used *used, struct error *err);
int process_runs_end_missing(struct store *s, const struct snapshot *snapshot, struct error *err);
int process_runs_flush(struct store *s, struct error *err);
void process_runs_forget(struct store *s);
/* The run of the process that a finding is about; NULL: none, or none is stored. While a number goes from one process to the next,
 * both have a run: the one in the snapshot at hand is meant. gpu_id 0: on any GPU. */
const struct process_run *process_runs_about(const struct store *s, int64_t gpu_id, int32_t pid);
/* The hour of this minute is to be summed up; and those that are over are. */
int hours_mark(struct store *s, int64_t minute, struct error *err);
int hours_rollup(struct store *s, int64_t now_ms, struct error *err);
/* days.c. Before hours change; an hour's energy of a host, that it has, is added to its day or taken away from it; the first day
 * from which on all are there; one more that is missing, 1: there may be more. */
int days_begin(struct store *s, struct error *err);
int days_add_hour(struct store *s, int64_t host, int64_t hour, bool take_away, struct error *err);
int days_from(struct store *s, int64_t *ret, struct error *err);
int days_fill(struct store *s, struct error *err);
struct hour_segments;
struct buf;
/* "(SELECT minute, process_id, samples, memory_max_bytes, ... )": rows as of process_minutes, those of hours at their first.
 * `host`: the parameter with the name of the host whose processes are meant, as "$2"; NULL: all. A hint: the caller's statement
 * joins the host. `with_limits`: and `limits`, for store_next_limit. */
int store_process_rows(struct store *s, const struct hour_segments *segments, const char *host, bool with_limits, struct buf *sql,
                       struct error *err);
int rollup_pending(struct store *s, int64_t now_ms, struct error *err);
/* A row that came after its bucket was summed up and its neighbors were deleted. */
int rollup_add_late(struct store *s, enum series series, const struct reading *one, int64_t subject_id, int64_t at_ms,
                    struct error *err);
/* Sums up what is still marked before `bucket`, of all hosts. 1: some, and there may be more. */
int rollup_overdue(struct store *s, enum series series, enum level level, int64_t bucket, struct error *err);
void rollup_read_aggregate(struct db_statement *q, int column, int64_t samples, struct aggregate *ret);
/* running.c */
void running_init(struct running *r);
void running_done(struct running *r);
struct running *running_of(struct store *s, enum series series, int64_t subject); /* NULL: nothing of it came yet */
int running_add(struct store *s, enum series series, const struct reading *row, int64_t subject_id, int64_t at_ms,
                struct error *err);
void bucket_add_row(const struct store *s, enum series series, const struct reading *row, struct bucket_row *to);
/* Whether a row of that moment might be there already. */
bool running_may_collide(struct store *s, enum series series, int64_t subject_id, int64_t at_ms);
/* A minute that was summed up goes into its hour, once. */
void running_add_to_hour(struct store *s, enum series series, struct running *r, int64_t minute, const struct bucket_row *row);
/* The bucket runs no longer: what comes to it later must be summed up with what is stored. Whether `row` is all there is of it. */
bool running_take(struct running *r, const struct mark *m, struct bucket_row *row);
/* A row went into the database and not through memory. */
void running_pass_by(struct running *r, const struct mark *m);
/* Marks the running minutes that are not yet: before a transaction ends. */
int running_mark(struct store *s, struct error *err);
int running_mark_bucket(struct store *s, const struct mark *m, struct error *err);
int running_mark_hour(struct store *s, enum series series, int64_t subject, int64_t hour, struct running *r, struct error *err);
bool running_may_be_marked(const struct running *r, const struct mark *m);
int running_unmark(struct store *s, const struct mark *m, struct running *r, struct error *err);
struct buf;
struct store_span;
void store_which_runs(enum db_kind kind, const struct store_span *span, int first, struct buf *sql);
void store_bind_runs(struct db_statement *q, const struct store_span *span, int first);
/* PostgreSQL: the part of that moment is there. */
int partition_ready(struct store *s, enum parted which, int64_t at_ms, struct error *err);
/* Those of all tables, and of the time to come. */
int partition_all_ready(struct store *s, int64_t at_ms, struct error *err);
/* Which parts there are has to be asked again. */
void partition_forget(struct store *s);
/* The oldest part, when all of it is before the period of the cut: its name, or "". */
int partition_oldest(struct store *s, enum parted which, int64_t cut_ms, char name[PART_NAME_SIZE], struct error *err);
int partition_drop(struct store *s, const char *name, struct error *err);
/* For readers: which parts of samples, minutes and hours there are. */
int partition_load(struct store *s, struct error *err);
/* Whether a statement failed for asking a part by its name: it was dropped a moment ago, or a role that may read the table may not
 * read its parts. Then none is known any more, and the same can be asked of the table itself. */
bool partition_lost(struct store *s, int rc);
/* Whether the part that rows are in from that moment on is known, and its name; until when that holds, at most *to_ms. Of what is
 * in no known part, the table itself is to be asked. */
bool partition_find(const struct store *s, enum parted which, int64_t from_ms, int64_t *to_ms, char name[PART_NAME_SIZE]);
/* The newest parts that are known, the newest first: those of weeks to come, this one, and the one before. */
enum { PARTS_RECENT = 3 };
size_t partition_newest(const struct store *s, enum parted which, const char *names[PARTS_RECENT]);
/* samples.c: a row of a GPU or host, with the columns that it needs. */
int write_sample(struct store *s, enum series series, const void *subject, int64_t subject_id, int64_t at_ms, struct error *err);
/* finding_episodes.c: the findings of a snapshot; and, once in a transaction, what its rows do not know yet. */
int findings_write(struct store *s, const struct snapshot *snapshot, int64_t at_ms, struct error *err);
int findings_flush(struct store *s, struct error *err);
/* events.c */
int put_event(struct store *s, const struct store_event *e, struct error *err);
int put_fact(struct store *s, const struct known_gpu *known, const char *key, const char *value, int64_t at_ms, struct error *err);
/* What is other than the history knows it becomes an event, with before and after. */
int write_changes(struct store *s, const struct gpu *gpu, struct known_gpu *known, int64_t at_ms, struct error *err);
int write_snapshot_events(struct store *s, const struct snapshot *snapshot, struct error *err);
int write_source_changes(struct store *s, const struct snapshot *snapshot, struct error *err);
int set_horizon(struct store *s, enum series series, enum level level, int64_t ms, struct error *err);
/* What this host knows of the time, in a transaction. 1: rows may be judged by it, 0: not yet. */
int retention_step(struct store *s, struct wall now, struct mono seen, struct error *err);
/* What all hosts know of the time and want kept: for a host that is about to clean up. */
int retention_ask(struct store *s, struct error *err);
/* Nothing is to be done for the moment, which a server need not be asked. */
bool retention_rests(const struct store *s, struct mono seen);
/* What is newest before anything is written. */
int retention_open(struct store *s, struct error *err);
int load_horizons(struct store *s, struct error *err);
