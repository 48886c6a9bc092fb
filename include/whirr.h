/* SPDX-License-Identifier: Apache-2.0
 * libwhirr: GPUs of any vendor, who uses them, and why they are busy, hot or slow. Link with `pkg-config --cflags --libs whirr`;
 * see whirr(3).
 *
 * Functions that can fail return 0 or a negative errno; whirr_error() then returns a message for people. Use a handle from one
 * thread at a time; different handles are independent. Functions write `ret` only on success.
 *
 * -EBADF: the handle is NULL or closed; -EINVAL: another argument must not be NULL. Functions that can't fail return NULL or 0
 * then.
 *
 * Unknown values have no number: functions return -ENODATA, and whirr_gpu_absent() says why. Readings have the names and units of
 * `whirr status --json` ("power_watts", "memory_used_mb", ...; see `whirr help metrics`).
 */
#ifndef WHIRR_H
#define WHIRR_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* "0.3.0" */
const char *whirr_version(void);

/* ---- a handle ---- */

struct whirr;

/* Where answers come from. Set `size` to sizeof(struct whirr_options); zero and NULL mean the default. */
struct whirr_options {
    size_t size;
    const char *source;  /* like --source: "nvml", "sim:scenario=training"; default: all available, through a daemon if one runs */
    const char *sysroot; /* like --sysroot: a recorded host */
    const char *socket;  /* like --socket: the daemon's; default: the configured one */
    int direct;          /* like --direct: sample in this process, even if a daemon runs */
};

/* `options` may be NULL. */
int whirr_open(const struct whirr_options *options, struct whirr **ret);
void whirr_close(struct whirr *w); /* NULL or a closed handle is fine */
/* The message of the last failure; "": none. For NULL or a closed handle: of this thread's last whirr_open(), or of its last use
 * of such a handle. */
const char *whirr_error(const struct whirr *w);
/* 1: a daemon answers; it shares its samples and knows the past. */
int whirr_asks_daemon(const struct whirr *w);

/* ---- samples ---- */

struct whirr_sample;

/* Reads all GPUs now. */
int whirr_sample(struct whirr *w, struct whirr_sample **ret);
void whirr_sample_free(struct whirr_sample *s); /* NULL is fine */

/* When it was taken, in milliseconds since 1970. */
int64_t whirr_sample_time_ms(const struct whirr_sample *s);
const char *whirr_sample_host(const struct whirr_sample *s);

/* GPUs are numbered from 0; positions don't change while the handle is open. */
size_t whirr_gpu_count(const struct whirr_sample *s);
/* "name", "uuid", "pci_address", "vendor", "state" (ok, asleep, error, lost), "source", "error_message", and every property of
 * `whirr status --json`. NULL: unknown, or no such name. */
const char *whirr_gpu_text(const struct whirr_sample *s, size_t gpu, const char *name);
/* -ENODATA: currently unknown; -ENOENT: no such reading; -ENODEV: no such GPU. */
int whirr_gpu_value(const struct whirr_sample *s, size_t gpu, const char *name, double *ret);
/* Why it is unknown: "unsupported", "denied", "asleep", "failed", "pending", "unread", "implausible"; NULL: it is known, or no
 * such reading. */
const char *whirr_gpu_absent(const struct whirr_sample *s, size_t gpu, const char *name);

size_t whirr_process_count(const struct whirr_sample *s, size_t gpu);
/* 0: no process at this position. */
int32_t whirr_process_pid(const struct whirr_sample *s, size_t gpu, size_t process);
/* "name", "display_name", "command" (secrets masked), "user", "type", "container", "container_name", "job", "model". */
const char *whirr_process_text(const struct whirr_sample *s, size_t gpu, size_t process, const char *name);
int whirr_process_value(const struct whirr_sample *s, size_t gpu, size_t process, const char *name, double *ret);

/* The whole sample, as `whirr status --json` prints it. Release this and all texts below with whirr_free(). */
int whirr_sample_json(const struct whirr_sample *s, char **ret);
void whirr_free(char *text); /* NULL is fine */

/* ---- answers ---- */

/* The host and its best GPU in one flat object. Unknown numbers are NaN; without a GPU, gpu_name and gpu_source are "". */
struct whirr_resources {
    size_t size;        /* set by the caller: sizeof(struct whirr_resources) */
    double cpu_percent; /* since the last call, at least 30 ms ago; NaN in the first, which has nothing to compare with */
    double memory_percent, available_memory_gb, memory_total_gb;
    double gpu_vram_gb; /* free memory of the best GPU; 0 without one */
    int gpu_available;
    int gpu_count;
    char gpu_name[128];
    char gpu_source[32];
    double gpu_total_vram_gb, gpu_used_vram_gb, gpu_free_vram_gb, gpu_utilization_percent, gpu_temperature_c;
};
/* Does not wait to measure the CPU, so the first call may not know its load. */
int whirr_resources(struct whirr *w, struct whirr_resources *ret);
int whirr_resources_json(struct whirr *w, char **ret);

/* Why the GPUs are busy, hot, loud or slow: one sentence; or everything, as `whirr why --json` prints it. Without a daemon's
 * history, it may watch for a second. */
int whirr_why(struct whirr *w, char **ret);
int whirr_why_json(struct whirr *w, char **ret);

/* Does it fit? `what` is an amount ("24GiB") or a path (a GGUF or safetensors model). 1: it does; 0: it does not, or that is
 * unknown; *ret_json (NULL: not wanted) is the output of `whirr fit --json`: where it fits, or what is missing. */
int whirr_fit(struct whirr *w, const char *what, char **ret_json);

/* ---- watching ---- */

/* Returns 0 to continue; anything else ends whirr_watch(), which returns it. The library owns the sample. */
typedef int whirr_watch_fn(void *user, const struct whirr_sample *s);

/* Calls `fn` once per interval until it returns nonzero. */
int whirr_watch(struct whirr *w, int64_t interval_ms, whirr_watch_fn *fn, void *user);
/* For your own event loop: a descriptor that becomes readable when a sample is due; then call whirr_watch_dispatch(). The handle
 * owns the descriptor. An interval of 0 ends it. -ENOSYS on Windows and macOS. */
int whirr_watch_fd(struct whirr *w, int64_t interval_ms);
int whirr_watch_dispatch(struct whirr *w, whirr_watch_fn *fn, void *user);

/* ---- giving way ---- */

/* For a program that holds GPU memory (a model server) and gives way to others: games, training runs, renderers. */
struct whirr_guard;

struct whirr_guard_events {
    size_t size;
    /* Another program needs the GPU; `reason` names it. Free the memory, then return 0; otherwise whirr retries later. */
    int (*should_evict)(void *user, const char *reason);
    /* The GPU has been free for a while, with enough room. Load again, then return 0; otherwise whirr retries later. */
    int (*may_return)(void *user);
};

/* Guards this process and its children. `gpus`: indexes of the GPUs it is bound to; NULL: those it uses. */
int whirr_guard_new(struct whirr *w, const int *gpus, size_t gpu_count, const struct whirr_guard_events *events, void *user,
                    struct whirr_guard **ret);
void whirr_guard_free(struct whirr_guard *g); /* NULL is fine */
/* Checks once, and calls back if needed. Returns the milliseconds until the next check, or a negative errno. */
int whirr_guard_step(struct whirr_guard *g);
/* 1 while it has given up the GPU; -EBADF: NULL. */
int whirr_guard_is_out(const struct whirr_guard *g);

/* For a program that needs a GPU soon: asks every guard of this user to make room, and waits at most wait_ms. 1: there is room,
 * or no worker is guarded; 0: a worker is still there. The request lasts until whirr_room_done() or the end of this process. */
int whirr_room_ask(struct whirr *w, int64_t wait_ms);
int whirr_room_done(struct whirr *w);

#ifdef __cplusplus
}
#endif
#endif
