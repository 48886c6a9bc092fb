/* SPDX-License-Identifier: Apache-2.0
 * Where a command's answers come from: a running daemon, queried over its Unix socket; otherwise, or with --source, --sysroot or
 * --direct, the engine in this process. Commands see snapshots only and need not know the difference.
 */
#pragma once

#include "ask/cli.h"
#include "base/error.h"
#include "model/snapshot.h"

struct why;

struct session;

/* The option that demands sampling here: "--direct", "--source" or "--sysroot"; NULL: none was given. */
const char *sampling_option(const struct cli *cli);

/* For a command that changes something: connects to the one daemon that it acts on and names. -EINVAL with --direct, --source or
 * --sysroot, which demand sampling here. Otherwise like client_open_to_act(). */
struct client;
int act_open(const struct cli *cli, struct client **ret, struct error *err);

/* For a command that only reads: the daemon of --host, or of this host. -ENOENT: none is running here. Never -ENOENT with
 * --host: data of this host must not replace it. */
int ask_open(const struct cli *cli, struct client **ret, struct error *err);

/* 0, or an error and a message if the daemon that --socket names does not answer. */
int ask_check_socket(const struct cli *cli, struct error *err);

/* NULL and a message on failure. -EINVAL in err: wrong usage. */
struct session *session_open(struct cli *cli, struct error *err);
/* True if a hanging thread remains, which may still use what the session was opened with. NULL is fine. */
bool session_close(struct session *s);

/* A fresh snapshot with at least `groups`. NULL and a message if nothing answered in time. */
const struct snapshot *session_sample(struct session *s, unsigned groups, struct error *err);

/* Says on stderr that a daemon does not answer, and on a terminal that the first sample takes long. */
void session_show_progress(struct session *s);

/* Whether a daemon answers. It has rates and history at once, so no second sample is needed. */
bool session_asks_daemon(const struct session *s);
/* For repeated sampling: provides the leases, so that a sample does not read hundreds of files. The caller keeps ownership. */
struct lease_list;
void session_set_leases(struct session *s, const struct lease_list *leases);
/* How old a daemon's sample may be; 5 s by default. */
void session_set_max_age(struct session *s, int64_t max_age_ms);
/* Explains a snapshot of this session, using the history of the daemon or of this process; NULL if there is none. */
bool session_has_sampled(const struct session *s); /* in this process, and so has a history */
struct why *session_why(struct session *s, const struct snapshot *snapshot);

/* Health as this process judged it in the last sample, owned by the caller; NULL: a daemon answers, or out of memory. */
struct health;
struct health_basis;
struct health *session_health(struct session *s, struct health_basis *basis);
/* The same for its forecast; of the basis only how long it was watched. */
struct forecast;
struct forecast_basis;
struct forecast *session_forecast(struct session *s, struct forecast_basis *basis);

/* Sends another query to the daemon: appends the body and returns its status. -ENOTCONN: no daemon answers here. */
int session_get(struct session *s, const char *target, struct buf *answer);

/* The position of the GPU that --gpu names, ALL_GPUS without --gpu; -ENODEV and a message if it does not exist. */
int session_only(struct session *s, const struct snapshot *snapshot, int *ret_only, struct error *err);
/* Where --gpu may name several: leaves only these in the snapshot and, if it is not NULL, in its explanation. */
int session_choose(const struct cli *cli, const struct snapshot **snapshot, struct why **why, int *ret_only, struct error *err);
/* Says which GPUs there are instead. */
int session_no_gpu(const struct cli *cli, const struct snapshot *snapshot, const char *which, struct error *err);

/* For doctor: the sources describe themselves. */
void session_describe(struct session *s, struct buf *out);
