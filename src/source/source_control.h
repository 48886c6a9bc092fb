/* SPDX-License-Identifier: Apache-2.0
 * GPU settings. A source that supports them has a table of three functions; everything else is common to all vendors and is here:
 * names, words, parsing of what people type, and the meaning of "quiet".
 *
 * Values are in the unit of their kind. A read returns the requested value, not the effective one: only the former can be restored.
 */
#pragma once

#include "source/source.h"

enum control_kind {
    CONTROL_POWER,    /* power limit, mW */
    CONTROL_CLOCKS,   /* minimum and maximum shader clock, MHz */
    CONTROL_FAN,      /* fixed fan speed, percent; persists when the program that set it dies */
    CONTROL_ACOUSTIC, /* target of the firmware's own fan control, in the GPU's unit */
    CONTROL_LEVEL,    /* kernel performance level, one of control_levels */
    CONTROL_ADVICE,   /* of simulated GPUs alone: a person has followed this advice, 1 + enum remedy_code */
    CONTROL_KINDS
};

struct control_value {
    bool stock; /* left to driver or firmware; the numbers are unused */
    int64_t low, high;
};

struct control_state {
    struct control_value now; /* the requested value */
    bool now_known;           /* false: the driver doesn't report it (NVML clock locks) */
    bool exact_stock;         /* "stock" means `stock_value`, never the flag; false: the flag, or neither */
    struct control_value stock_value;
    int64_t least, most;
    struct reading in_force; /* lower than requested because something else limits it; absent: unknown */
    const char *unit;        /* as shown to people: "W", "MHz", "%", "°C", "rpm" */
};

struct control_ops {
    /* 0, or -errno with a sentence. -EOPNOTSUPP: the GPU lacks this setting. -EACCES: this process may not change it; *ret is
     * complete. -EBUSY: another program gave its parts different values; only the range is set. -ENODEV: the GPU is unreachable.
     * Others: reading failed. Changes nothing. */
    int (*look)(struct source *s, size_t gpu, enum control_kind kind, struct control_state *ret, struct error *err);
    /* The value is within look()'s range, or stock. */
    int (*set)(struct source *s, size_t gpu, enum control_kind kind, struct control_value value, struct error *err);
    /* The equivalent command for a person. */
    void (*command)(struct source *s, size_t gpu, enum control_kind kind, struct control_value value, struct buf *out);
};

extern const struct control_ops nvml_control, amdgpu_control, intel_control, sim_control;

/* The kernel's names; the first is stock. */
extern const char *const control_levels[];
enum { CONTROL_LEVELS = 9 };
int64_t control_level_of(struct str name); /* -1: unknown */

const char *control_name(enum control_kind kind);  /* "power_limit", in files and JSON */
const char *control_words(enum control_kind kind); /* "power limit" */
bool control_from_name(const char *name, enum control_kind *ret);

enum { CONTROL_TEXT_SIZE = 48 };
/* "330 W", "1400-1800 MHz", "45%", "low", "stock" */
const char *control_text(enum control_kind kind, const char *unit, struct control_value v, char out[CONTROL_TEXT_SIZE]);
bool control_equal(enum control_kind kind, struct control_value a, struct control_value b);

/* "330W", "330", "75%" (of stock), "1400-1800", "1800", "45%", "auto", "stock", "low". -EINVAL: not understood; -ERANGE: out of
 * the GPU's range, which the error names. */
int control_parse(enum control_kind kind, const char *text, const struct control_state *state, struct control_value *ret,
                  struct error *err);
/* 0, or -ERANGE naming the range. */
int control_check(enum control_kind kind, const struct control_state *state, struct control_value v, struct error *err);

/* A quieter value: below the current one, in range. False: none would help. `draw_mw`: its draw under load. */
bool control_quiet(enum control_kind kind, const struct control_state *state, struct reading draw_mw, struct control_value *ret);

/* For sources with settings in files: explains a failed read or write. */
int control_file_error(int code, const char *name, struct error *err);

/* Warnings for people: that something else interferes, or that it will have no effect. Lines, or empty. */
void control_hints(enum control_kind kind, const struct control_state *state, struct control_value v, struct reading draw_mw,
                   struct buf *out);

/* ---- All GPUs of this host that have settings ---- */

struct control_gpu {
    struct source *source;
    size_t at; /* index in its source's list */
    struct gpu_id id;
};

struct control_set {
    struct source *sources[8];
    size_t source_count, gpu_count;
    struct control_gpu gpus[GPU_MAX];
};

/* Opens the sources that have settings. -ENODEV: no GPU. */
int control_open(const struct env *env, struct control_set *ret, struct error *err);
void control_close(struct control_set *c);
#define AUTO_CONTROL __attribute__((cleanup(control_close)))
/* By UUID or PCI address; NULL: not found. */
const struct control_gpu *control_find(const struct control_set *c, const char *key);
bool control_is(const struct control_gpu *gpu, const char *key); /* key: not empty */
/* Forward to the GPU's source; they fail with a sentence if the source has no settings. */
int control_look(const struct control_gpu *gpu, enum control_kind kind, struct control_state *ret, struct error *err);
int control_write(const struct control_gpu *gpu, enum control_kind kind, struct control_value v, struct error *err);
/* Of a simulated GPU: at that moment the setting is as it was before its last change. */
int sim_put_back_at(const struct control_gpu *gpu, enum control_kind kind, struct wall at, struct error *err);
/* Whether a GPU with a fixed fan speed is cool enough for it; false with the reason. */
bool control_fan_safe(const struct control_gpu *gpu, struct error *err);
