/* SPDX-License-Identifier: Apache-2.0
 * The specification of a guarded worker: its processes, how it frees its memory, and when. Made from the configuration or a
 * command line; owns everything in it.
 */
#pragma once

#include "config/config.h"
#include "guard/claim.h"
#include "guard/method.h"

enum { SPEC_NAME_SIZE = 64, SPEC_GPUS_MAX = 16 };

/* Which processes are the worker. The first set field counts; descendants of a match belong to it. */
struct guard_match {
    struct claim_identity leader;  /* pid 0: unset */
    char name[64];                 /* of the program */
    char unit[METHOD_TEXT_SIZE];   /* systemd unit */
    char cgroup[METHOD_TEXT_SIZE]; /* path below /sys/fs/cgroup, "/" first */
    int port;                      /* the process listening there; 0: unset */
};

struct guard_gate_spec {
    char listen[METHOD_TEXT_SIZE]; /* "" : no gate */
    bool refuse;                   /* otherwise new requests wait while paused */
    size_t waiting_max;
    int64_t wait_ms;
};

#define GUARDS_NOTHING "no worker is configured, so nothing is guarded"
#define GUARDS_NOTHING_FIX "add a [guard.worker.NAME] ([worker] holds only its defaults), or use `whirr guard attach`"

struct guard_spec {
    char name[SPEC_NAME_SIZE];
    struct guard_match match;
    struct method methods[JOURNAL_METHODS_MAX];
    size_t method_count;
    struct server_row rows[JOURNAL_METHODS_MAX]; /* for methods described by the user */
    struct method_settings settings;
    char gpus[SPEC_GPUS_MAX][GPU_UUID_SIZE];
    size_t gpu_count;
    struct guard_gate_spec gate;
    struct guard_limits limits;
    struct claim_limits claim;
    int64_t interval_ms, health_interval_ms;
    bool auto_evict, health, pause_on_errors, steam, gamemode, dry_run;
    bool lists_processes; /* profile "desktop": needs a source that lists processes */
    bool overheat;
    int64_t hot_mdegc, cool_mdegc;
    struct arena *texts;
};

/* The i-th [guard.worker.NAME]. -EINVAL with a sentence that names the worker. */
int spec_from_config(const struct config *config, size_t i, struct guard_spec *ret, struct error *err);
/* Checks all workers, individually and together. As warnings: a daemon guards the others and keeps monitoring. */
void spec_check_config(const struct config *config, bool warnings, struct config_problems *problems);
/* A worker from the command line: settings of [worker], no process matched yet. */
int spec_from_defaults(const struct config *config, const char *name, struct guard_spec *ret, struct error *err);
/* Appends a method. */
int spec_add_method(struct guard_spec *spec, const struct config *config, const char *name, struct error *err);
/* Whether it is complete: methods that need a URL have one, a process is matched, ... */
int spec_check(const struct guard_spec *spec, bool has_child, struct error *err);
/* "http://127.0.0.1:11434": stores it, and its port to find the worker if nothing else is given. */
int spec_set_url(struct guard_spec *spec, const char *url, struct error *err);
void spec_done(struct guard_spec *spec);
