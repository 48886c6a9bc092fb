/* SPDX-License-Identifier: Apache-2.0
 * The drivers of AMD and Intel are files: each open and read of them fails in turn, in any way that the kernel knows. The source
 * says why it does not open, or goes on without that value; when the fault is over, everything is there again.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "test.h"
#include "tree.h"

static struct tree tree;

struct life {
    struct source *source;
    struct gpu_id ids[GPU_MAX];
    int count;
    struct error err;
};

static bool begin(struct life *l, const struct source_ops *ops)
{
    *l = (struct life){0};
    if (ops->open(&tree.env, "", &l->source, &l->err) < 0)
        return false;
    l->count = ops->list(l->source, l->ids, GPU_MAX);
    return true;
}

static int compare_pids(const void *a, const void *b)
{
    const struct process *x = a, *y = b;
    return x->pid - y->pid;
}

/* Everything of all cards once, as text; a card that came or went meanwhile is seen. */
static char *look(struct life *l, const struct source_ops *ops)
{
    struct buf out = BUF(1 << 20);
    clock_manual_advance_ms(&tree.clock, 1000);
    if (ops->changed && ops->changed(l->source))
        l->count = ops->list(l->source, l->ids, GPU_MAX);
    if (ops->refresh)
        ops->refresh(l->source, GROUP_ALL, &l->err);
    for (int i = 0; i < l->count; i++) {
        struct gpu gpu = {0};
        ops->sample(l->source, (size_t)i, GROUP_ALL, &gpu);
        buf_printf(&out, "gpu %s %s %s %s\n", l->ids[i].pci_address, l->ids[i].uuid, l->ids[i].name, gpu_state_name(gpu.state));
        if (gpu.process_count) /* in the order in which they were found */
            qsort(gpu.processes, gpu.process_count, sizeof gpu.processes[0], compare_pids);
        gpu_write(&gpu, "", &out);
        gpu_done(&gpu);
    }
    char *text = buf_take(&out);
    return text ? text : strdup("");
}

static void look_and_forget(struct life *l, const struct source_ops *ops, int times)
{
    for (int i = 0; i < times; i++)
        free(look(l, ops));
}

static void end(struct life *l, const struct source_ops *ops)
{
    ops->close(l->source);
}

/* Two samples, in which one call fails; then two in peace, the last one is the answer. NULL: it did not open, and said why. */
static char *live(const struct source_ops *ops, size_t n, int error, size_t *calls)
{
    struct life l;
    char *text = NULL;
    fault_call(n, error);
    if (begin(&l, ops)) {
        look_and_forget(&l, ops, 2);
        *calls = fault_calls();
        fault_call(0, 0);
        clock_manual_advance_ms(&tree.clock, 120000); /* what is read seldom is read again */
        look_and_forget(&l, ops, 1);
        text = look(&l, ops);
        end(&l, ops);
    } else if (!l.err.text[0])
        fail_msg("%s does not say why it did not open when call %zu failed with %d", ops->name, n, error);
    fault_clear();
    return text;
}

/* "'power_mw 1' instead of 'power_mw 2'" */
static const char *first_difference(const char *text, const char *expected)
{
    static char words[512];
    struct str a = str_from(text), b = str_from(expected), x = {0}, y = {0};
    bool more_a, more_b;
    do {
        more_a = str_cut(&a, '\n', &x);
        more_b = str_cut(&b, '\n', &y);
    } while (more_a && more_b && str_equal(x, y));
    snprintf(words, sizeof words, "'%.*s' instead of '%.*s'", (int)x.len, x.at, (int)y.len, y.at);
    return words;
}

/* `pci` has a client, too. */
static void fail_each(const char *machine, const struct source_ops *ops, const char *pci, size_t least_calls)
{
    static const int errors[] = {EIO, EACCES, ENODEV, EMFILE, EINVAL};
    size_t calls = 0, ignored;
    tree_process(&tree, 42, "game");
    tree_amd_fd(&tree, 42, 5, pci, 7, 1000000, 2048);
    AUTO_FREE char *healthy = live(ops, 0, 0, &calls);
    assert_non_null(healthy);
    assert_non_null(strstr(healthy, " ok\n"));
    if (calls < least_calls)
        fail_msg("%s: only %zu calls", machine, calls);
    for (size_t n = 1; n <= calls; n++) {
        int error = errors[n % ARRAY_LEN(errors)];
        AUTO_FREE char *after = live(ops, n, error, &ignored);
        if (after && strcmp(after, healthy) != 0)
            fail_msg("%s: call %zu of %zu failed with %s; afterwards %s", machine, n, calls, strerror(error),
                     first_difference(after, healthy));
    }
    tree_done(&tree);
}

static void fail_each_of_machine(const char *machine, const struct source_ops *ops, const char *pci)
{
    tree_machine(&tree, machine);
    fail_each(machine, ops, pci, 50);
}

static void each_read_of_amdgpu_fails_in_turn_and_all_is_well_again(void **state)
{
    (void)state;
    fail_each_of_machine("rx7900xtx-rdna3", &amdgpu_source, "0000:03:00.0");
    fail_each_of_machine("mi300x-kfd-cpx", &amdgpu_source, "0000:05:00.0");
    fail_each_of_machine("steamdeck-vangogh", &amdgpu_source, "0000:04:00.0");
}

static void each_read_of_i915_and_xe_fails_in_turn_and_all_is_well_again(void **state)
{
    (void)state;
    fail_each_of_machine("arc-a380-i915", &intel_source, "0000:0b:00.0");
    fail_each_of_machine("arc-a380-xe", &intel_source, "0000:03:00.0");
    fail_each_of_machine("cometlake-i915", &intel_source, "0000:00:02.0");
}

static void each_read_of_another_driver_fails_in_turn_and_all_is_well_again(void **state)
{
    (void)state;
    tree_init(&tree);
    tree_card(&tree, "card0", "nouveau", "0000:09:00.0", "10DE:1B81", 128);
    tree_device(&tree, "card0", "hwmon/hwmon3/temp1_input", "51000\n");
    fail_each("nouveau", &drm_source, "0000:09:00.0", 20);
}

static void each_read_of_a_jetson_fails_in_turn_and_all_is_well_again(void **state)
{
    (void)state;
    fail_each_of_machine("jetson-xavier-nx", &tegra_source, "0000:09:00.0");
    fail_each_of_machine("jetson-nano-idle", &tegra_source, "0000:09:00.0");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(each_read_of_amdgpu_fails_in_turn_and_all_is_well_again),
        TEST(each_read_of_a_jetson_fails_in_turn_and_all_is_well_again),
        TEST(each_read_of_i915_and_xe_fails_in_turn_and_all_is_well_again),
        TEST(each_read_of_another_driver_fails_in_turn_and_all_is_well_again),
    };
    return RUN_TESTS(tests);
}
