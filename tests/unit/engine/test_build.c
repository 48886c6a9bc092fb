/* SPDX-License-Identifier: Apache-2.0
 * Two sources that read the same GPU.
 */
#include "engine/internal.h"
#include "test.h"

static const struct source_ops first_ops = {.name = "first"}, second_ops = {.name = "second", .completes = true},
                               plain_ops = {.name = "plain"};

static struct result *result_of(const char *pci)
{
    struct result *r = calloc(1, sizeof *r + sizeof r->gpus[0]);
    r->gpu_count = 1;
    str_copy(r->gpus[0].id.pci_address, sizeof r->gpus[0].id.pci_address, str_from(pci));
    str_copy(r->gpus[0].id.name, sizeof r->gpus[0].id.name, STR("GPU"));
    r->gpus[0].processes_state = READING_OK;
    return r;
}

static struct process *add_process(struct result *r, int32_t pid, struct reading memory, struct reading util)
{
    struct process *p = gpu_add_process(&r->gpus[0], pid);
    p->mem_bytes = memory;
    p->util_permille = util;
    return p;
}

/* The first lists 10 without its memory and does not know 11. */
static struct snapshot *build(const struct source_ops *other, const char *pci)
{
    static struct roster roster, accelerators;
    const struct reading none = reading_absent(READING_UNSUPPORTED);
    struct slot slots[] = {{.ops = &first_ops, .open = true, .result = result_of("0000:01:00.0")},
                           {.ops = other, .open = true, .result = result_of(pci)}};
    roster = accelerators = (struct roster){0};
    add_process(slots[0].result, 10, none, reading_ok(500));
    add_process(slots[1].result, 10, reading_ok(1 << 20), reading_ok(400));
    add_process(slots[1].result, 11, reading_ok(2 << 20), none);
    struct snapshot *s = build_snapshot(slots, 2, &roster, &accelerators, true, (struct wall){1});
    for (size_t i = 0; i < 2; i++)
        result_free(slots[i].result);
    return s;
}

static void a_second_source_fills_in_what_processes_use(void **state)
{
    (void)state;
    AUTO_SNAPSHOT const struct snapshot *s = build(&second_ops, "0000:01:00.0");
    assert_int_equal(s->gpu_count, 1);
    assert_int_equal(s->gpus[0].process_count, 2);
    const struct process *p = gpu_find_process(&s->gpus[0], 10);
    assert_int_equal(p->mem_bytes.value, 1 << 20);
    assert_int_equal(p->util_permille.value, 500); /* what the first says stands */
    assert_int_equal(gpu_find_process(&s->gpus[0], 11)->mem_bytes.value, 2 << 20);
}

static void other_gpus_and_other_sources_fill_in_nothing(void **state)
{
    (void)state;
    AUTO_SNAPSHOT const struct snapshot *apart = build(&second_ops, "0000:02:00.0");
    assert_int_equal(apart->gpu_count, 2);
    assert_int_equal(apart->gpus[0].process_count, 1);
    assert_int_equal(apart->gpus[0].processes[0].mem_bytes.state, READING_UNSUPPORTED);
    AUTO_SNAPSHOT const struct snapshot *plain = build(&plain_ops, "0000:01:00.0");
    assert_int_equal(plain->gpu_count, 1);
    assert_int_equal(plain->gpus[0].process_count, 1);
    assert_int_equal(plain->gpus[0].processes[0].mem_bytes.state, READING_UNSUPPORTED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(a_second_source_fills_in_what_processes_use),
                                       TEST(other_gpus_and_other_sources_fill_in_nothing)};
    return RUN_TESTS(tests);
}
