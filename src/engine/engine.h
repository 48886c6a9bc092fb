/* SPDX-License-Identifier: Apache-2.0
 * The engine turns sources into snapshots. One thread a source (drivers hang), one coordinator that knows cadence, deadlines,
 * failures, identities and publication. A command uses it for one sample, the daemon for all of them.
 *
 *   worker thread (nvml)  ──┐ results                    ┌─▶ subscribers (every periodic snapshot)
 *   worker thread (amdgpu)──┼─────────▶ coordinator ─────┤
 *   worker thread (sim)   ──┘◀───────── jobs             └─▶ requests (a fresh one, shared by all who ask at once)
 *
 * All functions may be called from any thread. Snapshots handed out carry a reference that the receiver gives back.
 */
#pragma once

#include "base/env.h"
#include "base/error.h"
#include "base/mailbox.h"
#include "model/snapshot.h"

struct engine;

/* Some drivers take seconds to start: NVML without persistence mode, an old nvidia-smi that is asked twice. */
enum { SOURCE_START_MS = 12000 };

struct engine_options {
    const struct env *env;      /* must outlive the engine */
    const char *const *sources; /* "NAME[:PARAMETERS]" each; none: chosen automatically */
    size_t source_count;
    int64_t interval_ms;   /* of periodic samples; 0: only on request */
    int64_t hung_after_ms; /* a source that does not answer for so long is given up; 0: 5000 */
    int64_t start_ms;      /* the same while it starts: some drivers take seconds for that; 0: no longer than later */
    bool show_secrets;     /* command lines unmasked */
    bool may_rest;         /* values without a reader are asked for less often: engine_look() */
};

/* Unknown source names fail with -EINVAL and a sentence that names the nearest one. Nothing is opened yet. */
struct engine *engine_new(const struct engine_options *options, struct error *err);
/* The end is near: a caller that waits for a sample, a release or a description goes on at once with what there is, and so does
 * every caller that asks from now on. A driver that hangs must not keep the threads that are to be joined. NULL is fine. */
void engine_end_waits(struct engine *e);
/* Stops sampling and closes the sources, within about a second. True: a thread that hangs is left behind, and may use the
 * options' env and sources whenever it goes on. NULL is fine. */
bool engine_free(struct engine *e);

/* The latest snapshot, NULL before the first. Never waits. */
const struct snapshot *engine_latest(struct engine *e);

/* A snapshot no older than max_age_ms that has at least `groups`; waits up to timeout_ms, then gives the latest (NULL if there is
 * none yet, with errno: ETIMEDOUT, or ENOMEM when it could not even be asked for). A negative max_age_ms takes a new one in any
 * case. Callers at the same time share one sample. Neither stored nor sent to subscribers. */
const struct snapshot *engine_sample(struct engine *e, unsigned groups, int64_t max_age_ms, int64_t timeout_ms);

/* The same without waiting: the snapshot is put into `reply` (a mailbox of const struct snapshot *) when it is there. */
void engine_request(struct engine *e, unsigned groups, int64_t max_age_ms, struct mailbox *reply);

/* Every periodic snapshot is put into `to`. At most 8 subscribers; -ENOSPC beyond. Their mailboxes must outlive the engine. */
int engine_subscribe(struct engine *e, struct mailbox *to);

/* The judge of its snapshots, for what others know and it should remember: held for moments only, no snapshot is judged meanwhile.
 */
struct judge;
struct judge *engine_lock_judge(struct engine *e);
void engine_unlock_judge(struct engine *e);
/* What the judge hears from the kernel log; only while the judge is locked. */
struct fault_log;
struct fault_log *engine_fault_log(struct engine *e);

/* Explains a snapshot of this engine, with what its judge remembers. NULL: out of memory. */
struct why;
struct why *engine_why(struct engine *e, const struct snapshot *s);

struct config;
/* What the configuration says of findings, for every judgement from now on. */
void engine_set_findings(struct engine *e, const struct config *config);

/* What others know is added to each snapshot before it is published: called by the coordinator in the order in which they
 * came, and must not wait. At most ENGINE_ANNOTATES_MAX. */
enum { ENGINE_ANNOTATES_MAX = 4 };
typedef void engine_annotate_fn(void *user, struct snapshot *s);
void engine_add_annotate(struct engine *e, engine_annotate_fn *annotate, void *user);
/* When this returns, that of this user is not running, and never will again. */
void engine_remove_annotate(struct engine *e, const void *user);

/* A reader looks at the values: for the next seconds all of them are as fresh as the interval allows. */
void engine_look(struct engine *e);

void engine_set_interval(struct engine *e, int64_t interval_ms);

/* Closes the sources so that a driver can be upgraded or a GPU reset; they open again by themselves after for_ms. 0: open again
 * now. Returns when the driver was let go, or -ETIMEDOUT. */
int engine_release(struct engine *e, int64_t for_ms, int64_t timeout_ms);

/* What doctor shows of a source: its own description, lines of text. */
void engine_describe(struct engine *e, struct buf *out, int64_t timeout_ms);
