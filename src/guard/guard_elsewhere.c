/* SPDX-License-Identifier: Apache-2.0
 * Replaces target.c, method_plain.c and gate/gate.c on systems without signals, checkpoints and pidfds, where no worker is
 * evicted.
 */
#include <errno.h>

#include "guard/gate.h"
#include "guard/guard_target.h"
#include "guard/method.h"

static int guard_elsewhere(struct error *err)
{
    return error_set(err, -ENOSYS, "whirr takes no workers off GPUs on this system yet");
}

int target_check(const struct env *env, struct claim_identity who, struct error *err)
{
    (void)env, (void)who;
    return guard_elsewhere(err);
}

int target_signal(const struct env *env, struct claim_identity who, int number, struct error *err)
{
    (void)env, (void)who, (void)number;
    return guard_elsewhere(err);
}

int target_renice(const struct env *env, struct claim_identity who, int by, int *ret_before, int *ret_after, struct error *err)
{
    (void)env, (void)who, (void)by, (void)ret_before, (void)ret_after;
    return guard_elsewhere(err);
}

int target_host_room(const struct env *env, int32_t pid, int64_t bytes, struct error *err)
{
    (void)env, (void)pid, (void)bytes;
    return guard_elsewhere(err);
}

int target_started(const struct env *env, int32_t pid, int64_t *ret)
{
    (void)env, (void)pid, (void)ret;
    return -ENOSYS;
}

enum worker_presence target_presence(const struct env *env, struct claim_identity who)
{
    (void)env, (void)who;
    return presence_from_check(-ENOSYS);
}

static int no_step(const struct method *method, struct method_context *c, struct error *err)
{
    (void)method, (void)c;
    return guard_elsewhere(err);
}

const struct method_ops method_command = {.name = "command", .evict = no_step, .resume = no_step};
const struct method_ops method_signal = {.name = "signal", .evict = no_step, .resume = no_step};
const struct method_ops method_process = {.name = "process", .evict = no_step, .resume = no_step};

int child_start(const struct env *env, struct child *child, struct error *err)
{
    (void)env, (void)child;
    return guard_elsewhere(err);
}

int child_stop(const struct env *env, struct child *child, struct error *err)
{
    (void)env, (void)child;
    return guard_elsewhere(err);
}

bool child_ended(const struct env *env, struct child *child, int *status)
{
    (void)env, (void)child, (void)status;
    return true;
}

int gate_new(const struct guard_gate_spec *spec, const char *upstream, struct gate **ret, struct error *err)
{
    (void)spec, (void)upstream, (void)ret;
    return guard_elsewhere(err);
}

void gate_free(struct gate *g)
{
    (void)g;
}

void gate_set(struct gate *g, enum gate_mode mode)
{
    (void)g, (void)mode;
}

void gate_count(struct gate *g, size_t *in_flight, size_t *waiting)
{
    (void)g;
    *in_flight = *waiting = 0;
}

void gate_asked(struct gate *g, uint64_t *total, size_t *in_flight)
{
    (void)g;
    *total = 0;
    *in_flight = 0;
}

void gate_set_bell(struct gate *g, void (*ring)(void *user), void *user)
{
    (void)g, (void)ring, (void)user;
}

void gate_configure(struct gate *g, const struct guard_gate_spec *spec)
{
    (void)g, (void)spec;
}

int gate_port(const struct gate *g)
{
    (void)g;
    return 0;
}

bool gate_await_worker(const struct gate *g, int64_t timeout_ms, const _Atomic bool *ending)
{
    (void)g, (void)timeout_ms, (void)ending;
    return false;
}

enum worker_presence presence_from_check(int checked)
{
    (void)checked;
    return WORKER_UNKNOWN;
}
