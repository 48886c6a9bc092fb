/* SPDX-License-Identifier: Apache-2.0
 * Two queries of the kernel's user interface, with our own declarations: xe's are newer than many systems' headers.
 */
#include "source/intel/gt.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>

#include "base/cleanup.h"

enum { ANSWER_MAX = 16384, CLASS_DEVICE = 1 };

struct i915_query_item {
    uint64_t query_id;
    int32_t length; /* in: size of the answer buffer, 0 asks for the size; out: negative is -errno */
    uint32_t flags;
    uint64_t data;
};

struct i915_query {
    uint32_t count, flags;
    uint64_t items;
};

struct i915_region {
    uint16_t class, instance;
    uint32_t reserved0;
    uint64_t probed_size, unallocated_size;
    uint64_t reserved1[8];
};

struct i915_regions {
    uint32_t count, reserved[3];
    struct i915_region regions[];
};

struct xe_query {
    uint64_t extensions;
    uint32_t query, size;
    uint64_t data;
    uint64_t reserved[2];
};

struct xe_region {
    uint16_t class, instance;
    uint32_t least_page_size;
    uint64_t total_size, used, cpu_visible_size, cpu_visible_used;
    uint64_t reserved[6];
};

struct xe_regions {
    uint32_t count, pad;
    struct xe_region regions[];
};

#define IOCTL_I915_QUERY _IOWR('d', 0x40 + 0x39, struct i915_query)
#define IOCTL_XE_QUERY _IOWR('d', 0x40 + 0x00, struct xe_query)
enum { I915_QUERY_MEMORY_REGIONS = 4, XE_QUERY_MEM_REGIONS = 1 };

uint64_t intel_vram_from_i915(const void *answer, size_t size)
{
    const struct i915_regions *all = answer;
    uint64_t total = 0;
    if (size < sizeof *all)
        return 0;
    for (size_t i = 0; i < all->count && sizeof *all + (i + 1) * sizeof all->regions[0] <= size; i++)
        if (all->regions[i].class == CLASS_DEVICE)
            total += all->regions[i].probed_size;
    return total;
}

uint64_t intel_vram_from_xe(const void *answer, size_t size)
{
    const struct xe_regions *all = answer;
    uint64_t total = 0;
    if (size < sizeof *all)
        return 0;
    for (size_t i = 0; i < all->count && sizeof *all + (i + 1) * sizeof all->regions[0] <= size; i++)
        if (all->regions[i].class == CLASS_DEVICE)
            total += all->regions[i].total_size;
    return total;
}

static uint64_t ask_i915(int fd, void *answer)
{
    struct i915_query_item item = {.query_id = I915_QUERY_MEMORY_REGIONS};
    struct i915_query query = {.count = 1, .items = (uintptr_t)&item};
    if (ioctl(fd, IOCTL_I915_QUERY, &query) < 0 || item.length <= 0 || item.length > ANSWER_MAX)
        return 0;
    item.data = (uintptr_t)answer;
    if (ioctl(fd, IOCTL_I915_QUERY, &query) < 0 || item.length <= 0)
        return 0;
    return intel_vram_from_i915(answer, (size_t)item.length);
}

static uint64_t ask_xe(int fd, void *answer)
{
    struct xe_query query = {.query = XE_QUERY_MEM_REGIONS};
    if (ioctl(fd, IOCTL_XE_QUERY, &query) < 0 || query.size == 0 || query.size > ANSWER_MAX)
        return 0;
    query.data = (uintptr_t)answer;
    if (ioctl(fd, IOCTL_XE_QUERY, &query) < 0)
        return 0;
    return intel_vram_from_xe(answer, query.size);
}

struct reading intel_vram_total(const struct drm_card *card, const struct env *env)
{
    char path[PATH_SIZE];
    if (env_is_recorded(env) || card->render_minor < 0 || env_path(env, path, "/dev/dri/renderD%d", card->render_minor) < 0)
        return reading_absent(READING_UNSUPPORTED);
    AUTO_CLOSE int fd = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return reading_absent(reading_state_from_errno(errno));
    AUTO_FREE void *answer = calloc(1, ANSWER_MAX);
    if (!answer)
        return reading_absent(READING_FAILED);
    uint64_t total = strcmp(card->driver, "xe") == 0 ? ask_xe(fd, answer) : ask_i915(fd, answer);
    return total > 0 && total < INT64_MAX ? reading_ok((int64_t)total) : reading_absent(READING_UNSUPPORTED);
}
