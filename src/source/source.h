/* SPDX-License-Identifier: Apache-2.0
 * What every way of reading GPUs looks like, and the ordered list of them.
 *
 * The engine gives each source a thread of its own and calls it from there only: open, then list, then refresh + sample for
 * each GPU once an interval, list again when a GPU came or went, close. A source never starts threads, logs, or keeps time
 * other than through env.
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
    const char *instead_of; /* a fallback: opened only when the source of this name did not open; NULL otherwise */
    bool automatic;         /* tried when no --source was given */
    bool periodic_only;     /* too expensive to be read for a request: while samples are taken periodically, the last one serves */
    bool simulated;         /* every GPU of it is labelled as simulated */
    bool recorded;          /* its GPUs are of another moment and often of another host: nothing around them is read here */
    bool reads_files;       /* only the kernel's files: their copy in a bundle shows the same GPUs again */
    bool completes;         /* knows of processes what another source that reads the same GPU may not be told: that is filled in */
    bool names_driver;      /* the one whose start and failures are those of the driver, see struct source_status */

    /* Optional: are the parameters right? Asked before anything is opened, so that a typing error is told at once. */
    int (*check)(const char *params, struct error *err);

    /* params: what followed "NAME:" ("" if nothing). -ENODEV: not on this host, err says why in the words of the driver. */
    int (*open)(const struct env *env, const char *params, struct source **ret, struct error *err);

    /* Optional: a number that changes when a card comes or goes. A source that was set aside is tried again then, without waiting
     * for its pause to end. Cheap, never blocks; called from another thread than the others. */
    uint64_t (*presence)(const struct env *env);

    /* Fills ids in the source's own order and returns how many, or -errno. A GPU that can no longer be read but was listed
     * before stays in the list. */
    int (*list)(struct source *s, struct gpu_id *ids, size_t max);

    /* Optional: once before the GPUs of a sample are read. A failure counts against the source. */
    int (*refresh)(struct source *s, unsigned groups, struct error *err);

    /* Reads one GPU (its position in list()) into a zeroed struct. Only metrics of `groups` need to be read. What cannot be read
     * becomes an absent reading or a state other than GPU_OK. */
    void (*sample)(struct source *s, size_t gpu, unsigned groups, struct gpu *out);

    /* Optional: driver and library versions. */
    void (*driver)(struct source *s, struct driver_info *out);

    /* Optional: the machine around the GPUs, for a source that speaks of another machine than this one. */
    void (*host)(struct source *s, struct host *out);

    /* Optional: what a recording holds before the moment at which it begins, oldest first, on the clock of `env`. The snapshots are
     * the receiver's. */
    void (*past)(const struct env *env, const char *params, void (*take)(void *user, struct snapshot *s), void *user);

    /* Optional: things that happened since the last call (XIDs); gpu_index is the position in list(). Never blocks. */
    size_t (*events)(struct source *s, struct event *events, size_t max);

    /* Optional: true when list() must be called again (a GPU came or went). */
    bool (*changed)(struct source *s);

    const struct control_ops *control; /* Optional: settings that can be changed, see control.h */

    /* Optional: for `whirr doctor`: what was found out about this source, one line each, into `out`. */
    void (*describe)(struct source *s, struct buf *out);

    void (*close)(struct source *s); /* NULL is fine */
};

/* The common beginning of every source. */
struct source {
    const struct source_ops *ops;
};

/* In the order in which they are tried and listed. */
extern const struct source_ops *const source_registry[];
extern const size_t source_registry_count;
/* Those that the configuration asks for: sampling.sources, or all but the one that
 * names the driver where worker.enable_nvml is off. 0: the automatic ones. */
struct config;
size_t sources_configured(const struct config *c, const char **list, size_t max);

const struct source_ops *source_find(struct str name); /* NULL: unknown */
/* Of "NAME[:PARAMETERS]"; `ret_params` ("" without any) may be NULL. NULL: unknown. */
const struct source_ops *source_of_spec(const char *spec, const char **ret_params);

/* Each in a directory of its name; what it reads is told in its main file. */
extern const struct source_ops accel_source, amdgpu_source, drm_source, intel_source, nvidia_smi_source, nvml_source,
    rocm_smi_source, tegra_source, wddm_source, iokit_source;
