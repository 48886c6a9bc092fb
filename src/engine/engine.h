/* SPDX-License-Identifier: Apache-2.0
 * The engine turns sources into snapshots: one thread per source (drivers hang), and one coordinator for cadence, deadlines,
 * failures, identities and publication. A command uses it for one sample, the daemon continuously.
 *
 *   worker thread (nvml)  ──┐ results                    ┌─▶ subscribers (every periodic snapshot)
 *   worker thread (amdgpu)──┼─────────▶ coordinator ─────┤
 *   worker thread (sim)   ──┘◀───────── jobs             └─▶ requests (a fresh one, shared by concurrent callers)
 *
 * All functions may be called from any thread. Returned snapshots carry a reference that the receiver must release.
 */
#pragma once

#include <stdbool.h>

#include "base/clock.h"
#include "base/env.h"
#include "base/error.h"
#include "base/mailbox.h"
#include "config/places.h"
#include "insight/verdict/health_memory.h"
#include "model/gpu.h"
#include "model/snapshot.h"

struct engine;

/* A limit for starting a source. Some drivers take seconds: NVML without persistence mode, an old nvidia-smi that needs two runs.
 */
enum { SOURCE_START_MS = 12000 };

struct engine_options {
    const struct env *env;      /* must outlive the engine */
    const char *const *sources; /* "NAME[:PARAMETERS]" each; none: automatic */
    size_t source_count;
    int64_t interval_ms;   /* for periodic samples; 0: only on request */
    int64_t hung_after_ms; /* a source without an answer for this long counts as hung; 0: 5000 */
    int64_t start_ms;      /* the same for its start, at least hung_after_ms; 0: hung_after_ms */
    bool show_secrets;     /* command lines unmasked */
    bool may_rest;         /* read values less often while no client reads them: engine_keep_fresh() */
};

/* Opens nothing yet. NULL: an unknown source (-EINVAL; the message names the nearest), or out of memory. */
struct engine *engine_new(const struct engine_options *options, struct error *err);
/* Prepares the end: callers that wait for a sample, a release or a description return at once with what is available, and so do
 * later ones. Otherwise a hung driver would block threads that are about to be joined. Accepts NULL. */
void engine_end_waits(struct engine *e);
/* Stops sampling and closes the sources, within about a second. True: a hung thread was abandoned, and may still use the
 * options' env and sources. Accepts NULL. */
bool engine_free(struct engine *e);

/* The latest snapshot, NULL before the first. Never blocks. */
const struct snapshot *engine_latest(struct engine *e);

/* A snapshot no older than max_age_ms with at least `groups`; waits up to timeout_ms, then returns the latest (NULL if none,
 * with errno: ETIMEDOUT, or ENOMEM if it couldn't even ask). A negative max_age_ms always takes a new one. Concurrent callers
 * share one sample. Neither stored nor sent to subscribers. */
const struct snapshot *engine_sample(struct engine *e, unsigned groups, int64_t max_age_ms, int64_t timeout_ms);

/* The same without waiting: puts the snapshot into `reply` (a mailbox of const struct snapshot *) when ready. */
void engine_request(struct engine *e, unsigned groups, int64_t max_age_ms, struct mailbox *reply);

/* Puts every periodic snapshot into `to`. At most 8 subscribers, then -ENOSPC. Their mailboxes must outlive the engine. */
int engine_subscribe(struct engine *e, struct mailbox *to);

/* The judge of its snapshots, for adding knowledge from elsewhere: hold it only briefly, because no snapshot is judged
 * meanwhile. */
struct judge;
struct judge *engine_lock_judge(struct engine *e);
void engine_unlock_judge(struct engine *e);
/* Loads the host's memory of its GPUs from the state directory; hosts that share the directory have a file each. *ret: where to
 * save it from now on. -ENOENT: none yet; -EINVAL, -EFBIG: damaged file. */
struct health_place {
    char path[PLACE_SIZE + 32];
    struct health_host host;
};
int engine_recall(struct engine *e, const char *state, struct health_place *ret, struct health_log_mark *seen, struct error *err);
/* The faults from the kernel log; use them only while the judge is locked. */
struct fault_log;
struct fault_log *engine_fault_log(struct engine *e);

/* Explains a snapshot of this engine, using the judge's memory. NULL: out of memory. */
struct why;
struct why *engine_why(struct engine *e, const struct snapshot *s);

struct config;
/* Applies the configuration of findings to all later judgements. */
void engine_set_findings(struct engine *e, const struct config *config);

/* Registers a callback that adds knowledge from elsewhere to each snapshot before publication. The coordinator calls them in order
 * of registration; they must not block. At most ENGINE_ANNOTATES_MAX. */
enum { ENGINE_ANNOTATES_MAX = 8 };
typedef void engine_annotate_fn(void *user, struct snapshot *s);
void engine_add_annotate(struct engine *e, engine_annotate_fn *annotate, void *user);
/* After it returns, this user's callback isn't running, and never will again. */
void engine_remove_annotate(struct engine *e, const void *user);

/* A client reads the values: keeps all of them as fresh as the interval allows, for the next 15 seconds. */
void engine_keep_fresh(struct engine *e);

void engine_set_interval(struct engine *e, int64_t interval_ms);

/* Closes the sources so that a driver can be upgraded or a GPU reset; they reopen automatically after for_ms. 0: reopen now.
 * Returns once the driver is released, or -ETIMEDOUT. */
int engine_release(struct engine *e, int64_t for_ms, int64_t timeout_ms);

/* Each source's own description for doctor, as lines of text. */
void engine_describe(struct engine *e, struct buf *out, int64_t timeout_ms);

/* ---- fault_log.c: driver errors in the kernel log (XIDs, hangs, resets) on their way to the judge. The log is read while the
 * sources answer; faults reach their GPU before the sample is judged, so every surface shows them with the same sample. ---- */

struct fault_log *fault_log_new(const struct env *env); /* NULL: out of memory */
void fault_log_free(struct fault_log *l);               /* accepts NULL */

/* Reads what the kernel logged since the last call. */
void fault_log_read(struct fault_log *l);
/* Delivers faults to the GPUs of this snapshot; those of other GPUs wait. */
void fault_log_deliver(struct fault_log *l, struct health_history *to, const struct snapshot *s);

/* Skips what an earlier daemon has read. */
void fault_log_skip(struct fault_log *l, struct health_log_mark until);
struct health_log_mark fault_log_mark(const struct fault_log *l);

/* True if there are GPUs of this host, but their log can't be read. */
bool fault_log_is_unread(const struct fault_log *l);
/* "read", "denied", "absent", or "skipped" if no GPU belongs to this host. */
const char *fault_log_state(const struct fault_log *l);
const char *fault_log_message(const struct fault_log *l); /* a sentence that says what to do; "": fine */

/* ---- attribution.c: how much of a GPU's power each of its processes causes; pure ---- */

/* The GPU's engine loads when its processes were read. */
enum { ATTRIBUTION_ENGINES = 4 };
struct engine_loads {
    struct reading of[ATTRIBUTION_ENGINES];
};

void engine_loads_note(const struct gpu *gpu, struct engine_loads *ret);
/* Scales shares of processes from an earlier sample to the GPU's current load. If that sample had hardly any load, they are unknown
 * until read again. */
void shares_follow(struct gpu *gpu, const struct engine_loads *then);

/* idle_mw: the observed idle draw; zeroed before the first call, kept between calls. */
void attribute_power(struct gpu *gpu, struct reading *idle_mw);

/* ---- coordinator.c: which metric groups a sample reads; pure ---- */

enum { CADENCE_SLOW_MS = 10000, CADENCE_RARE_MS = 30000, CADENCE_GAME_PROCESS_MS = 5000 };

struct cadence {
    bool static_done, slow_done, rare_done, process_done;
    struct mono slow_at, rare_at, process_at;
};

/* Groups due at `now`. Frequent process queries make games stutter (the driver takes a lock): while one runs, at most every
 * CADENCE_GAME_PROCESS_MS. */
unsigned cadence_due(const struct cadence *c, bool game_runs, struct mono now);
void cadence_read(struct cadence *c, unsigned groups, struct mono now);

/* Whether a graphics process keeps a GPU busy. */
bool cadence_game_runs(const struct gpu *gpus, size_t count);
