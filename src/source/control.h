/* SPDX-License-Identifier: Apache-2.0
 * What can be set on a GPU, and setting it. A source that can has a table of three functions; everything else about settings is
 * the same for all vendors and is here: names, words, the way from what a person types to a value, what "quiet" means.
 *
 * Values are in the unit of their kind. What is read is always what was requested, not what is in force: only that can be put back.
 */
#pragma once

#include "source/source.h"

enum control_kind {
    CONTROL_POWER,    /* power limit, mW */
    CONTROL_CLOCKS,   /* lowest and highest clock of the shaders, MHz */
    CONTROL_FAN,      /* fixed fan speed, percent; stays where it is when the program that set it dies */
    CONTROL_ACOUSTIC, /* the target that the firmware's own fan control follows, in the unit that the GPU has */
    CONTROL_LEVEL,    /* performance level of the kernel, one of control_levels */
    CONTROL_KINDS
};

struct control_value {
    bool stock; /* left to the driver or firmware; the numbers are not used */
    int64_t low, high;
};

struct control_state {
    struct control_value now; /* as requested */
    bool now_known;           /* false: the driver does not say (clock locks of NVML) */
    bool exact_stock;         /* "stock" is `stock_value`, and never the flag of a value; false: the flag, or nothing */
    struct control_value stock_value;
    int64_t least, most;
    struct reading in_force; /* where something else holds it lower; absent: not known */
    const char *unit;        /* of what people see: "W", "MHz", "%", "°C", "rpm" */
};

struct control_ops {
    /* 0, or why not, with a sentence. -EOPNOTSUPP: this GPU has no such setting. -EACCES: this process may not change it; all is
     * filled in. -EBUSY: another program has given its parts different values; only the range is filled in. -ENODEV: the GPU cannot
     * be reached. Another -errno: reading failed. Changes nothing. */
    int (*look)(struct source *s, size_t gpu, enum control_kind kind, struct control_state *ret, struct error *err);
    /* The value is in the range that look() gave, or stock. */
    int (*set)(struct source *s, size_t gpu, enum control_kind kind, struct control_value value, struct error *err);
    /* The command with which a person would do the same. */
    void (*command)(struct source *s, size_t gpu, enum control_kind kind, struct control_value value, struct buf *out);
};

extern const struct control_ops nvml_control, amdgpu_control, intel_control;

/* Names of the kernel; the first is stock. */
extern const char *const control_levels[];
enum { CONTROL_LEVELS = 9 };
int64_t control_level_of(struct str name); /* -1: unknown */

const char *control_name(enum control_kind kind);  /* "power_limit": in files and JSON */
const char *control_words(enum control_kind kind); /* "power limit" */
bool control_from_name(const char *name, enum control_kind *ret);

enum { CONTROL_TEXT_SIZE = 48 };
/* "330 W", "1400-1800 MHz", "45%", "low", "stock" */
const char *control_text(enum control_kind kind, const char *unit, struct control_value v, char out[CONTROL_TEXT_SIZE]);
bool control_equal(enum control_kind kind, struct control_value a, struct control_value b);

/* "330W", "330", "75%" (of stock), "1400-1800", "1800", "45%", "auto", "stock", "low". -EINVAL: not understood, -ERANGE: outside of
 * what the GPU can do, with the range. */
int control_parse(enum control_kind kind, const char *text, const struct control_state *state, struct control_value *ret,
                  struct error *err);
/* 0, or -ERANGE and the range. */
int control_check(enum control_kind kind, const struct control_state *state, struct control_value v, struct error *err);

/* What makes it quieter: below the present value, in the range. false: nothing would. `draw_mw`: what it draws under work. */
bool control_quiet(enum control_kind kind, const struct control_state *state, struct reading draw_mw, struct control_value *ret);

/* For sources whose settings are files: what a failed read or write of one means, in words. */
int control_file_error(int code, const char *name, struct error *err);

/* What a person should know before: that something else acts, or nothing will. Lines, or nothing. */
void control_hints(enum control_kind kind, const struct control_state *state, struct control_value v, struct reading draw_mw,
                   struct buf *out);

/* ---- All GPUs of this host that have settings ---- */

struct control_gpu {
    struct source *source;
    size_t at; /* position in its list */
    struct gpu_id id;
};

struct control_set {
    struct source *sources[8];
    size_t source_count, gpu_count;
    struct control_gpu gpus[GPU_MAX];
};

/* Opens the sources that have settings. -ENODEV: there is no GPU. */
int control_open(const struct env *env, struct control_set *ret, struct error *err);
void control_close(struct control_set *c);
#define AUTO_CONTROL __attribute__((cleanup(control_close)))
/* UUID, else PCI address: as leases call it. */
const char *control_key(const struct control_gpu *gpu);
/* By UUID or PCI address; NULL: there is none. */
const struct control_gpu *control_find(const struct control_set *c, const char *key);
/* Those of its source, for a GPU; they say so where the source has none. */
int control_look(const struct control_gpu *gpu, enum control_kind kind, struct control_state *ret, struct error *err);
int control_write(const struct control_gpu *gpu, enum control_kind kind, struct control_value v, struct error *err);
/* Whether a GPU whose fan is at a fixed speed is cool enough for that; false and why. */
bool control_fan_safe(const struct control_gpu *gpu, struct error *err);
