/* SPDX-License-Identifier: Apache-2.0
 * The interface of every source of GPU readings, and their ordered list.
 *
 * The engine calls each source only from a thread of its own: open, then list, then refresh + sample for each GPU once per
 * interval, list again when a GPU came or went, close. A source never starts threads, logs, or reads clocks other than env's.
 */
#pragma once

#include <stddef.h>

#include "base/env.h"
#include "base/error.h"
#include "model/snapshot.h"

struct source;
struct control_ops;

struct source_ops {
    const char *name;
    const char *what;       /* one line for --help and doctor */
    const char *instead_of; /* a fallback: opened only if this source didn't open; NULL otherwise */
    bool automatic;         /* tried if no --source was given */
    bool periodic_only;     /* too expensive for single requests: while periodic sampling runs, its last sample serves */
    bool simulated;         /* all its GPUs are labeled as simulated */
    bool recorded;          /* its GPUs are of another time and often another host: nothing around them is read here */
    bool reads_files;       /* reads only kernel files: a copy in a bundle shows the same GPUs again */
    bool completes;         /* may know more about processes than another source for the same GPU: its values fill the gaps */
    bool names_driver;      /* its start and failures are the driver's, see struct source_status */

    bool ignores_parameters; /* else one without check() takes none */

    /* Optional: validates the parameters before anything is opened, so that typos are reported at once. */
    int (*check)(const char *params, struct error *err);

    /* params: the text after "NAME:" ("" if none). -ENODEV: not on this host; err has the reason in the driver's words. */
    int (*open)(const struct env *env, const char *params, struct source **ret, struct error *err);

    /* Optional: a number that changes when a card comes or goes. A suspended source is retried then, before its pause ends.
     * Cheap, never blocks; called from another thread than the rest. */
    uint64_t (*presence)(const struct env *env);

    /* Fills ids in the source's order and returns their number, or -errno. A GPU that became unreadable stays in the list. */
    int (*list)(struct source *s, struct gpu_id *ids, size_t max);

    /* Optional: called once per sample, before its GPUs are read. A failure counts against the source. */
    int (*refresh)(struct source *s, unsigned groups, struct error *err);

    /* Reads one GPU (by position in list()) into a zeroed struct. Only metrics of `groups` are needed. Unreadable ones become
     * absent readings, or a state other than GPU_OK. */
    void (*sample)(struct source *s, size_t gpu, unsigned groups, struct gpu *out);

    /* Optional: driver and library versions. */
    void (*driver)(struct source *s, struct driver_info *out);

    /* Optional: the host around the GPUs, for a source that describes another host. */
    void (*host)(struct source *s, struct host *out);

    /* Optional: what a recording has before its starting point, oldest first, on the clock of `env`. The receiver owns the
     * snapshots. */
    void (*past)(const struct env *env, const char *params, void (*take)(void *user, struct snapshot *s), void *user);

    /* Optional: events since the last call (XIDs); gpu_index is the position in list(). Never blocks. */
    size_t (*events)(struct source *s, struct event *events, size_t max);

    /* Optional: true if list() must be called again (a GPU came or went). */
    bool (*changed)(struct source *s);

    const struct control_ops *control; /* Optional: changeable settings, see control.h */

    /* Optional: facts about this source for `whirr doctor`, one per line. */
    void (*describe)(struct source *s, struct buf *out);

    void (*close)(struct source *s); /* accepts NULL */
};

/* The first member of every source. */
struct source {
    const struct source_ops *ops;
};

/* In the order of trying and listing. */
extern const struct source_ops *const source_registry[];
extern const size_t source_registry_count;
/* The configured sources: sampling.sources, or all but the one that names the driver if worker.enable_nvml is off. 0: the
 * automatic ones. */
struct config;
size_t sources_configured(const struct config *c, const char **list, size_t max);

/* Whether it takes these parameters; -EINVAL. */
int source_check(const struct source_ops *ops, const char *params, struct error *err);
const struct source_ops *source_find(struct str name); /* NULL: unknown */
/* From "NAME[:PARAMETERS]"; `ret_params` ("" without any) may be NULL. NULL: unknown. */
const struct source_ops *source_of_spec(const char *spec, const char **ret_params);

/* Each has its own directory, and its main file says what it reads. */
extern const struct source_ops accel_source, amdgpu_source, drm_source, intel_source, nvidia_smi_source, nvml_source,
    rocm_smi_source, tegra_source, wddm_source, iokit_source, sim_source, replay_source;
