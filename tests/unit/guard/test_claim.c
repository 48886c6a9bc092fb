/* SPDX-License-Identifier: Apache-2.0 */
#include "guard/claim.h"

#include <stdio.h>

#include "base/units.h"
#include "test.h"

/* A machine with two GPUs; the worker is pid 100 on GPU 0 with 8 GiB. */
struct rig {
    struct snapshot *s;
    struct claim_worker w;
    struct claim_baseline b;
    struct claim_signals signals;
    struct claim_limits limits;
};

static struct process *add(struct rig *r, int gpu, int pid, const char *name, enum process_type type, int64_t mib, int load)
{
    struct process *p = gpu_add_process(&r->s->gpus[gpu], pid);
    p->type = type;
    p->start_key = pid * 7;
    p->mem_bytes = reading_ok(mib * MIB_BYTES);
    p->util_permille = reading_ok(load);
    snprintf(p->name, sizeof p->name, "%s", name);
    int64_t used = reading_or(r->s->gpus[gpu].mem_used_bytes, 0) + mib * MIB_BYTES;
    r->s->gpus[gpu].mem_used_bytes = reading_ok(used);
    r->s->gpus[gpu].mem_free_bytes = reading_ok(24576 * MIB_BYTES - used);
    return p;
}

static struct rig rig(void)
{
    struct rig r = {.s = snapshot_new(2), .limits = claim_limits_default};
    for (int i = 0; i < 2; i++) {
        r.s->gpus[i].index = i;
        r.s->gpus[i].processes_state = READING_OK;
    }
    r.w.pids[r.w.pid_count++] = (struct claim_identity){100, 700};
    add(&r, 0, 100, "llama-server", PROCESS_COMPUTE, 8192, 0);
    return r;
}

static struct claim judge(struct rig *r)
{
    return claim_judge(r->s, &r->w, &r->b, &r->signals, &r->limits);
}

static void done(struct rig *r)
{
    snapshot_unref(r->s);
}

static void the_worker_alone_is_no_claim(void **state)
{
    (void)state;
    struct rig r = rig();
    claim_learn(&r.b, r.s, &r.w, (struct claim_identity){0});
    assert_int_equal(judge(&r).verdict, CLAIM_NONE);
    done(&r);
}

static void compute_counts_from_256_mib_or_five_percent(void **state)
{
    (void)state;
    struct {
        int64_t mib;
        int load;
        enum claim_verdict expected;
    } cases[] = {{255, 49, CLAIM_NONE}, {256, 0, CLAIM_SEEN}, {10, 50, CLAIM_SEEN}};
    for (size_t i = 0; i < 3; i++) {
        struct rig r = rig();
        claim_learn(&r.b, r.s, &r.w, (struct claim_identity){0});
        add(&r, 0, 200, "python3", PROCESS_COMPUTE, cases[i].mib, cases[i].load);
        assert_int_equal(judge(&r).verdict, cases[i].expected);
        done(&r);
    }
}

static void graphics_counts_from_1_gib_or_512_mib_when_busy(void **state)
{
    (void)state;
    struct {
        int64_t mib;
        int load;
        enum claim_verdict expected;
    } cases[] = {{1023, 199, CLAIM_NONE}, {1024, 0, CLAIM_SEEN}, {512, 200, CLAIM_SEEN}, {511, 900, CLAIM_NONE}};
    for (size_t i = 0; i < 4; i++) {
        struct rig r = rig();
        claim_learn(&r.b, r.s, &r.w, (struct claim_identity){0});
        add(&r, 0, 200, "firefox", PROCESS_GRAPHICS, cases[i].mib, cases[i].load);
        assert_int_equal(judge(&r).verdict, cases[i].expected);
        done(&r);
    }
}

static void a_desktop_never_claims(void **state)
{
    (void)state;
    struct rig r = rig();
    add(&r, 0, 50, "gnome-shell", PROCESS_GRAPHICS, 300, 30);
    add(&r, 0, 51, "firefox", PROCESS_GRAPHICS, 1500, 10);
    claim_learn(&r.b, r.s, &r.w, (struct claim_identity){0});
    assert_int_equal(judge(&r).verdict, CLAIM_NONE);
    r.s->gpus[0].processes[1].mem_bytes = reading_ok(2500 * MIB_BYTES); /* the shell has grown */
    assert_int_equal(judge(&r).verdict, CLAIM_NONE);
    r.s->gpus[0].processes[2].mem_bytes = reading_ok(3000 * MIB_BYTES); /* the browser plays a game now */
    struct claim c = judge(&r);
    assert_int_equal(c.verdict, CLAIM_SEEN);
    assert_int_equal(c.pid, 51);
    assert_non_null(strstr(c.reason, "firefox"));
    done(&r);
}

static void a_claimant_of_before_is_one_still(void **state)
{
    (void)state;
    struct rig r = rig();
    add(&r, 0, 51, "firefox", PROCESS_GRAPHICS, 1500, 10);
    add(&r, 0, 60, "train.py", PROCESS_COMPUTE, 3000, 0);
    claim_learn(&r.b, r.s, &r.w, (struct claim_identity){0});
    assert_int_equal(judge(&r).verdict, CLAIM_NONE);
    claim_learn(&r.b, r.s, &r.w, (struct claim_identity){60, 60 * 7});
    struct claim c = judge(&r);
    assert_int_equal(c.verdict, CLAIM_SEEN);
    assert_int_equal(c.pid, 60);
    assert_int_equal(r.b.others_bytes[0], 1500 * MIB_BYTES);
    claim_learn(&r.b, r.s, &r.w, (struct claim_identity){60, 5}); /* another process had that pid */
    assert_int_equal(judge(&r).verdict, CLAIM_NONE);
    done(&r);
}

static void another_gpu_does_not_matter_unless_the_worker_is_bound_to_it(void **state)
{
    (void)state;
    struct rig r = rig();
    claim_learn(&r.b, r.s, &r.w, (struct claim_identity){0});
    add(&r, 1, 200, "train.py", PROCESS_COMPUTE, 9000, 990);
    assert_int_equal(judge(&r).verdict, CLAIM_NONE);
    r.w.gpus[0] = 1 << 1;
    assert_int_equal(judge(&r).verdict, CLAIM_SEEN);
    done(&r);
}

static void a_reused_pid_is_another_process(void **state)
{
    (void)state;
    struct rig r = rig();
    claim_learn(&r.b, r.s, &r.w, (struct claim_identity){0});
    r.s->gpus[0].processes[0].start_key = 9999;
    r.w.gpus[0] = 1;
    assert_int_equal(judge(&r).verdict, CLAIM_SEEN);
    done(&r);
}

static void games_and_announcements_are_sure(void **state)
{
    (void)state;
    struct rig r = rig();
    claim_learn(&r.b, r.s, &r.w, (struct claim_identity){0});
    add(&r, 0, 300, "hl2_linux", PROCESS_GRAPHICS, 40, 5);
    assert_int_equal(judge(&r).verdict, CLAIM_NONE);
    r.signals.games[0] = (struct claim_identity){300, 2100};
    r.signals.game_count = 1;
    assert_int_equal(judge(&r).verdict, CLAIM_SURE);
    r.signals.game_count = 0;
    r.signals.gamemode = true;
    assert_int_equal(judge(&r).verdict, CLAIM_SURE);
    r.signals.gamemode = false;
    r.signals.announced = true;
    assert_int_equal(judge(&r).verdict, CLAIM_SURE);
    done(&r);
}

static void any_means_any(void **state)
{
    (void)state;
    struct rig r = rig();
    claim_learn(&r.b, r.s, &r.w, (struct claim_identity){0});
    add(&r, 0, 300, "glxgears", PROCESS_GRAPHICS, 4, 0);
    assert_int_equal(judge(&r).verdict, CLAIM_NONE);
    r.limits.any = true;
    assert_int_equal(judge(&r).verdict, CLAIM_SEEN);
    r.signals.self = (struct claim_identity){300, 2100};
    assert_int_equal(judge(&r).verdict, CLAIM_NONE);
    done(&r);
}

static void memory_without_a_holder_counts_when_it_jumps(void **state)
{
    (void)state;
    struct rig r = rig();
    r.s->gpus[0].mem_used_bytes.value += 300 * MIB_BYTES;
    claim_learn(&r.b, r.s, &r.w, (struct claim_identity){0});
    assert_int_equal(judge(&r).verdict, CLAIM_NONE);
    r.s->gpus[0].mem_used_bytes.value += 511 * MIB_BYTES;
    assert_int_equal(judge(&r).verdict, CLAIM_NONE);
    r.s->gpus[0].mem_used_bytes.value += MIB_BYTES;
    assert_int_equal(judge(&r).verdict, CLAIM_SEEN);
    done(&r);
}

static void the_reserve_counts_only_when_others_took_it(void **state)
{
    (void)state;
    struct rig r = rig();
    r.limits.reserve_bytes = 20000 * MIB_BYTES;
    claim_learn(&r.b, r.s, &r.w, (struct claim_identity){0});
    assert_int_equal(judge(&r).verdict, CLAIM_NONE);
    add(&r, 0, 300, "mpv", PROCESS_GRAPHICS, 200, 0);
    assert_int_equal(judge(&r).verdict, CLAIM_SEEN);
    done(&r);
}

static void what_cannot_be_read_is_unknown_but_a_seen_claim_stays_one(void **state)
{
    (void)state;
    struct rig r = rig();
    r.w.gpus[0] = 3;
    claim_learn(&r.b, r.s, &r.w, (struct claim_identity){0});
    gpu_mark_state(&r.s->gpus[1], GPU_ERROR, "GPU is lost");
    struct claim c = judge(&r);
    assert_int_equal(c.verdict, CLAIM_UNKNOWN);
    assert_non_null(strstr(c.reason, "GPU is lost"));
    add(&r, 0, 300, "python3", PROCESS_COMPUTE, 4000, 900);
    assert_int_equal(judge(&r).verdict, CLAIM_SEEN);
    int64_t bytes;
    assert_false(claim_worker_bytes(r.s, &r.w, &bytes));
    done(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_worker_alone_is_no_claim),
        TEST(compute_counts_from_256_mib_or_five_percent),
        TEST(graphics_counts_from_1_gib_or_512_mib_when_busy),
        TEST(a_desktop_never_claims),
        TEST(a_claimant_of_before_is_one_still),
        TEST(another_gpu_does_not_matter_unless_the_worker_is_bound_to_it),
        TEST(a_reused_pid_is_another_process),
        TEST(games_and_announcements_are_sure),
        TEST(any_means_any),
        TEST(memory_without_a_holder_counts_when_it_jumps),
        TEST(the_reserve_counts_only_when_others_took_it),
        TEST(what_cannot_be_read_is_unknown_but_a_seen_claim_stays_one),
    };
    return RUN_TESTS(tests);
}
