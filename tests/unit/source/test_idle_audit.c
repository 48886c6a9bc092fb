/* SPDX-License-Identifier: Apache-2.0
 * What keeps a GPU from resting, on a machine made of files whose device answers the kernel's queries for modes.
 */
#include "source/sysfs/sysfs_idle_audit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include "base/cleanup.h"
#include "test.h"
#include "tree.h"

/* As the kernel's header has them (include/uapi/drm/drm_mode.h), in numbers: a wrong declaration of ours would ask something else.
 */
enum { DROP_MASTER = 0x641f };
static const unsigned long get_resources = 0xc04064a0, get_crtc = 0xc06864a1, get_encoder = 0xc01464a6, get_connector = 0xc05064a7;

struct machine {
    struct tree tree;
    struct snapshot *snapshot;
    struct idle_facts rest;
    int opened, dropped, probed;
    int open_error; /* what opening the device gives; 0: it opens */
    uint32_t clock_khz, flags;
    uint16_t dots; /* of a line */
};

static int device_open(const struct env *env, const char *path)
{
    struct machine *m = env->user;
    m->opened++;
    assert_string_equal(path, "/dev/dri/card1");
    return m->open_error ? m->open_error : open("/dev/null", O_RDONLY | O_CLOEXEC);
}

static void put32(void *at, size_t offset, uint32_t value)
{
    memcpy((char *)at + offset, &value, sizeof value);
}

static uint32_t get32(const void *at, size_t offset)
{
    uint32_t value;
    memcpy(&value, (const char *)at + offset, sizeof value);
    return value;
}

static void put16(void *at, size_t offset, uint16_t value)
{
    memcpy((char *)at + offset, &value, sizeof value);
}

/* Connector 71 is DP-1, driven by encoder 70 and CRTC 60; connector 72 is HDMI-A-1 and shows nothing. */
static int device_ask(const struct env *env, int fd, unsigned long request, void *argument)
{
    struct machine *m = env->user;
    (void)fd;
    if (request == DROP_MASTER) {
        m->dropped++;
        return -EINVAL; /* we are not */
    }
    if (request == get_resources) {
        uint64_t ids;
        memcpy(&ids, (char *)argument + 16, sizeof ids);
        assert_true(get32(argument, 40) >= 2);
        ((uint32_t *)(uintptr_t)ids)[0] = 71;
        ((uint32_t *)(uintptr_t)ids)[1] = 72;
        put32(argument, 40, 2);
        return 0;
    }
    if (request == get_connector) {
        bool first = get32(argument, 48) == 71;
        m->probed += get32(argument, 32) == 0; /* room for no mode: the kernel asks the display */
        put32(argument, 44, first ? 70 : 0);
        put32(argument, 52, first ? 10 : 11);
        put32(argument, 56, 1);
        return 0;
    }
    if (request == get_encoder) {
        assert_int_equal(get32(argument, 0), 70);
        put32(argument, 8, 60);
        return 0;
    }
    assert_true(request == get_crtc);
    assert_int_equal(get32(argument, 12), 60);
    put32(argument, 32, 1);
    put32(argument, 36, m->clock_khz);
    put16(argument, 40, 2560);
    put16(argument, 46, m->dots);
    put16(argument, 50, 1440);
    put16(argument, 56, 1525);
    put32(argument, 60, 59);
    put32(argument, 64, m->flags);
    return 0;
}

static void display(struct machine *m, const char *connector, bool on)
{
    const char *texts[][2] = {{"status", "connected"},
                              {"enabled", on ? "enabled" : "disabled"},
                              {"dpms", on ? "On" : "Off"},
                              {"modes", "1920x1080\n1280x720\n"}};
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        char path[PATH_SIZE];
        snprintf(path, sizeof path, "/sys/class/drm/card1-%s/%s", connector, texts[i][0]);
        tree_write(&m->tree, path, texts[i][1]);
    }
}

static int setup(void **state)
{
    struct machine *m = calloc(1, sizeof *m);
    assert_non_null(m);
    tree_init(&m->tree);
    m->tree.env.device_open = device_open;
    m->tree.env.device_ask = device_ask;
    m->tree.env.user = m;
    m->dots = 2720;
    m->clock_khz = 684420; /* of 2720 by 1525 dots: 165 Hz */
    tree_card(&m->tree, "card1", "amdgpu", "0000:03:00.0", "1002:73DF", 128);
    display(m, "DP-1", true);
    display(m, "HDMI-A-1", false);
    tree_process(&m->tree, 900, "gnome-shell");
    tree_link(&m->tree, "/proc/900/fd/7", "/dev/dri/card1");
    m->snapshot = snapshot_new(1);
    assert_non_null(m->snapshot);
    snprintf(m->snapshot->gpus[0].id.pci_address, sizeof m->snapshot->gpus[0].id.pci_address, "0000:03:00.0");
    *state = m;
    return 0;
}

static int teardown(void **state)
{
    struct machine *m = *state;
    snapshot_unref(m->snapshot);
    tree_done(&m->tree);
    free(m);
    return 0;
}

static const struct idle_display *read_first(struct machine *m)
{
    idle_facts_read(&m->tree.env, m->snapshot, &m->rest);
    assert_int_equal(m->rest.display_count, 2);
    for (size_t i = 0; i < m->rest.display_count; i++)
        if (strcmp(m->rest.displays[i].connector, "DP-1") == 0)
            return &m->rest.displays[i];
    fail_msg("no DP-1");
    return NULL;
}

static void assert_mode(const struct idle_display *d, bool in_use, int width, int height, int refresh_hz)
{
    assert_int_equal(d->in_use, in_use);
    assert_int_equal(d->width, width);
    assert_int_equal(d->height, height);
    assert_int_equal(d->refresh_hz, refresh_hz);
}

static void a_display_has_the_mode_in_use(void **state)
{
    struct machine *m = *state;
    const struct idle_display *d = read_first(m);
    assert_mode(d, true, 2560, 1440, 165);
    assert_int_equal(m->opened, 1);
    assert_int_equal(m->dropped, 1);
    assert_int_equal(m->probed, 0);
    for (size_t i = 0; i < m->rest.display_count; i++)
        if (!m->rest.displays[i].on)
            assert_false(m->rest.displays[i].in_use);
}

static void interlaced_modes_show_two_fields_a_frame(void **state)
{
    struct machine *m = *state;
    m->clock_khz = 124440; /* 30 frames a second */
    m->flags = 1 << 4;
    assert_mode(read_first(m), true, 2560, 1440, 60);
}

static void a_mode_without_its_times_has_the_rate_that_the_driver_gives(void **state)
{
    struct machine *m = *state;
    m->dots = 0;
    assert_mode(read_first(m), true, 2560, 1440, 59);
}

static void a_device_that_may_not_be_opened_leaves_the_preferred_mode(void **state)
{
    struct machine *m = *state;
    m->open_error = -EACCES;
    assert_mode(read_first(m), false, 1920, 1080, 0);
    m->tree.env.device_open = NULL;
    assert_mode(read_first(m), false, 1920, 1080, 0);
}

/* The first to open it would drive its displays, the last to close it would reset them. */
static void a_device_that_no_program_has_open_is_not_opened(void **state)
{
    struct machine *m = *state;
    tree_remove(&m->tree, "/proc/900");
    tree_process(&m->tree, 901, "python3");
    tree_link(&m->tree, "/proc/901/fd/3", "/dev/dri/renderD128"); /* draws nothing on a display */
    assert_mode(read_first(m), false, 1920, 1080, 0);
    assert_int_equal(m->opened, 0);
}

static void a_gpu_that_sleeps_or_shows_no_picture_is_not_opened(void **state)
{
    struct machine *m = *state;
    m->snapshot->gpus[0].state = GPU_ASLEEP;
    read_first(m);
    m->snapshot->gpus[0].state = GPU_LOST;
    read_first(m);
    m->snapshot->gpus[0].state = GPU_OK;
    display(m, "DP-1", false);
    read_first(m);
    assert_int_equal(m->opened, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_display_has_the_mode_in_use, setup, teardown),
        cmocka_unit_test_setup_teardown(interlaced_modes_show_two_fields_a_frame, setup, teardown),
        cmocka_unit_test_setup_teardown(a_mode_without_its_times_has_the_rate_that_the_driver_gives, setup, teardown),
        cmocka_unit_test_setup_teardown(a_device_that_may_not_be_opened_leaves_the_preferred_mode, setup, teardown),
        cmocka_unit_test_setup_teardown(a_device_that_no_program_has_open_is_not_opened, setup, teardown),
        cmocka_unit_test_setup_teardown(a_gpu_that_sleeps_or_shows_no_picture_is_not_opened, setup, teardown),
    };
    return RUN_TESTS(tests);
}
