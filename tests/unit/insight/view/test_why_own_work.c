/* SPDX-License-Identifier: Apache-2.0
 * What an answer says of a process is what that process did: not what another one did, or one that has ended.
 */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "insight/view/why.h"
#include "test.h"

struct course {
    struct recent past;
    const struct snapshot *last;
    int64_t second;
};

struct program {
    const char *name;
    int32_t pid;
    int64_t began_s, share, gib;
};

static struct why *look(struct course *c, int64_t permille, const struct program *programs, size_t count)
{
    struct snapshot *s = snapshot_new(1);
    assert_non_null(s);
    s->taken_at.ms = 1800000000000 + ++c->second * 1000;
    struct gpu *gpu = &s->gpus[0];
    snprintf(gpu->id.uuid, sizeof gpu->id.uuid, "GPU-1");
    snprintf(gpu->id.name, sizeof gpu->id.name, "NVIDIA H200");
    gpu->util_permille = reading_ok(permille);
    gpu->power_mw = reading_ok(permille > 100 ? 400000 : 120000);
    gpu->power_limit_mw = gpu->power_limit_default_mw = reading_ok(700000);
    gpu->temp_mdegc = reading_ok(45000);
    gpu->processes_state = READING_OK;
    for (size_t i = 0; i < count; i++) {
        struct process *p = gpu_add_process(gpu, programs[i].pid);
        snprintf(p->name, sizeof p->name, "%s", programs[i].name);
        p->visible = true;
        p->type = PROCESS_COMPUTE;
        p->start_key = programs[i].pid;
        p->started_at.ms = 1800000000000 + programs[i].began_s * 1000;
        p->mem_bytes = reading_ok(programs[i].gib << 30);
        p->util_permille = reading_ok(programs[i].share);
    }
    recent_add(&c->past, c->last, s);
    snapshot_unref(c->last);
    c->last = s;
    return why_explain(s, &c->past);
}

static void end(struct course *c)
{
    recent_done(&c->past);
    snapshot_unref(c->last);
}

static void one_that_holds_memory_is_not_named_for_the_bursts_of_another(void **state)
{
    (void)state;
    struct course c = {0};
    for (int i = 0; i < 60; i++) {
        int64_t load = i % 10 < 6 ? 900 : 0;
        struct why *why = look(&c, load, (struct program[]){{"burster", 7, -100, load, 2}, {"holder", 8, -100, 0, 40}}, 2);
        const char *answer = why->gpus[0].answer;
        if (i > 30 && (!strstr(answer, "burster is") || strstr(answer, "holder")))
            fail_msg("second %d: %s", i, answer);
        why_free(why);
    }
    end(&c);
}

static void one_that_holds_memory_is_not_busy_after_the_end_of_another(void **state)
{
    (void)state;
    struct course c = {0};
    for (int i = 0; i < 60; i++) {
        int64_t load = i % 10 < 6 ? 900 : 0;
        why_free(look(&c, load, (struct program[]){{"burster", 7, -100, load, 2}}, 1));
    }
    why_free(look(&c, 300, (struct program[]){{"holder", 8, 60, 0, 40}}, 1));
    for (int i = 0; i < 60; i++) {
        struct why *why = look(&c, 0, (struct program[]){{"holder", 8, 60, 0, 40}}, 1);
        const char *answer = why->gpus[0].answer;
        if (strstr(answer, "busy") || strstr(answer, "bursts") || strstr(answer, "on average"))
            fail_msg("second %d: %s", i, answer);
        why_free(why);
    }
    end(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(one_that_holds_memory_is_not_named_for_the_bursts_of_another),
        TEST(one_that_holds_memory_is_not_busy_after_the_end_of_another),
    };
    return RUN_TESTS(tests);
}
