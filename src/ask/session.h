/* SPDX-License-Identifier: Apache-2.0
 * Where a command's answers come from: a running daemon, asked over its Unix socket; else, or when --source, --sysroot or --direct
 * say so, the engine of this process. Commands see snapshots only and need not know the difference.
 */
#pragma once

#include "ask/cli.h"
#include "base/error.h"
#include "model/snapshot.h"

struct why;

struct session;

/* "--direct", "--source" or "--sysroot", which are about sampling here; NULL: none of them was given. */
const char *sampling_option(const struct cli *cli);

/* For a command that changes something: the one daemon that it acts on, which it names to the person. --direct, --source and
 * --sysroot are -EINVAL: they are about sampling here. Otherwise like client_open_to_act(). */
struct client;
int act_open(const struct cli *cli, struct client **ret, struct error *err);

/* For a command that looks: the daemon of --host, else of this host. -ENOENT: none is running here. Never -ENOENT with --host:
 * nothing of this host may be shown in its stead. */
int ask_open(const struct cli *cli, struct client **ret, struct error *err);

/* 0; or the daemon that --socket names, and which a command is to ask, does not answer: a sentence. */
int ask_check_socket(const struct cli *cli, struct error *err);

/* NULL and a sentence on failure. -EINVAL in err: wrong usage. */
struct session *session_open(struct cli *cli, struct error *err);
/* True: a thread that hangs was left behind, and may still use what the session was opened with. NULL is fine. */
bool session_close(struct session *s);

/* A fresh snapshot that has at least `groups`. NULL and a sentence when nothing answered in time. */
const struct snapshot *session_sample(struct session *s, unsigned groups, struct error *err);

/* A line on a terminal's stderr while the first sample takes long. */
void session_show_progress(struct session *s);

/* True: a daemon answers. Its rates and its past are there at once, no second sample is needed for them. */
bool session_asks_daemon(const struct session *s);
/* For one that samples again and again: these are the leases, so that hundreds of files are not read for each sample. They stay the
 * caller's. */
struct lease_list;
void session_set_leases(struct session *s, const struct lease_list *leases);
/* How old a daemon's sample may be; 5 s unless told otherwise. */
void session_set_max_age(struct session *s, int64_t max_age_ms);
/* The explanation of a snapshot that this session gave, with the past that the daemon, else this process, remembers; NULL when
 * there is none. */
bool session_has_sampled(const struct session *s); /* by itself, and so has a past */
struct why *session_why(struct session *s, const struct snapshot *snapshot);

/* Health as this process itself judged it with the last sample, the caller's; NULL: a daemon answers, or memory is out. */
struct health;
struct health_basis;
struct health *session_health(struct session *s, struct health_basis *basis);

/* Asks the daemon for something else: the status of its answer, whose body is appended. -ENOTCONN: no daemon answers here. */
int session_get(struct session *s, const char *target, struct buf *answer);

/* The position of the GPU that --gpu names, ALL_GPUS without --gpu; -ENODEV and a sentence when it is not there. */
int session_only(struct session *s, const struct snapshot *snapshot, int *ret_only, struct error *err);
int session_only_of(const struct cli *cli, const struct snapshot *snapshot, int *ret_only, struct error *err);

/* For doctor: what the sources say about themselves. */
void session_describe(struct session *s, struct buf *out);
