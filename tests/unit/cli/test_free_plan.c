/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/free/free.h"

#include <stdlib.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "test.h"

/* One GPU with a model server, the desktop, a program of bob under a lease, and one of ours. */
static struct snapshot *desk(void)
{
    struct snapshot *s = calloc(1, sizeof *s + sizeof s->gpus[0]);
    s->gpu_count = 1;
    struct gpu *gpu = &s->gpus[0];
    gpu->processes = calloc(4, sizeof *gpu->processes);
    gpu->process_count = 4;
    const struct process all[] = {
        {.pid = 10, .name = "ollama", .user = "ollama", .visible = true, .mem_bytes = reading_ok(5LL << 30)},
        {.pid = 11, .name = "gnome-shell", .user = "alice", .visible = true, .mem_bytes = reading_ok(300 << 20)},
        {.pid = 12, .name = "train.py", .user = "bob", .visible = true, .lease = "ab12", .mem_bytes = reading_ok(9LL << 30)},
        {.pid = 13, .name = "firefox", .user = "alice", .visible = true, .mem_bytes = reading_ok(200 << 20)},
    };
    for (size_t i = 0; i < ARRAY_LEN(all); i++)
        gpu->processes[i] = all[i];
    return s;
}

static void done(struct snapshot *s)
{
    free(s->gpus[0].processes);
    free(s);
}

static void each_holder_has_its_way(void **state)
{
    (void)state;
    struct snapshot *s = desk();
    const struct free_worker workers[] = {{.name = "chat", .method = "ollama", .pid = 10}};
    AUTO_FREE struct free_plan *plan = calloc(1, sizeof *plan);
    AUTO_BUF struct buf out = BUF(8192);
    const struct page page = {.width = 80};
    free_plan_make(plan, s, ALL_GPUS, workers, 1, "alice");
    assert_int_equal(plan->count, 4);
    assert_int_equal(plan->unload_bytes, 5LL << 30);
    free_plan_text(&out, &page, plan);
    assert_non_null(strstr(out.at, "makes room (ollama), comes back"));
    assert_non_null(strstr(out.at, "stays: draws the screen"));
    assert_non_null(strstr(out.at, "lease ab12 of bob: ask bob"));
    assert_non_null(strstr(out.at, "yours: close it (PID 13)"));
    done(s);
}

static void without_a_worker_nothing_can_be_unloaded(void **state)
{
    (void)state;
    struct snapshot *s = desk();
    AUTO_FREE struct free_plan *plan = calloc(1, sizeof *plan);
    const struct free_worker absent = {.name = "chat", .method = "ollama"};
    free_plan_make(plan, s, ALL_GPUS, &absent, 1, "alice");
    assert_int_equal(plan->unload_bytes, 0);
    for (size_t i = 0; i < plan->count; i++)
        assert_true(plan->holders[i].way != HOLDER_UNLOADS);
    done(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(each_holder_has_its_way),
        TEST(without_a_worker_nothing_can_be_unloaded),
    };
    return RUN_TESTS(tests);
}
