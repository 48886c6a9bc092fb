/* SPDX-License-Identifier: Apache-2.0
 * The tegra source: the GPU of a Jetson without NVML. If NVML lists it, the nvml source adds what only these files have.
 */
#include "source/source.h"

#include <errno.h>
#include <stdlib.h>

#include "source/tegra/tegra_read.h"

struct tegra {
    struct source source;
    const struct env *env;
    bool unnamed; /* the board's name was unreadable when listed */
};

static int tegra_open(const struct env *env, const char *params, struct source **ret, struct error *err)
{
    struct attrs devfreq;
    int wrong = source_check(&tegra_source, params, err);
    if (wrong < 0)
        return wrong;
    if (!tegra_find(env, &devfreq))
        return error_set(err, -ENODEV, "no GPU of a Tegra chip in /sys/class/devfreq");
    struct tegra *s = malloc(sizeof *s);
    if (!s)
        return error_set(err, -ENOMEM, "out of memory");
    *s = (struct tegra){.source.ops = &tegra_source, .env = env};
    *ret = &s->source;
    return 0;
}

static void tegra_close(struct source *source)
{
    free(source);
}

static int tegra_list(struct source *source, struct gpu_id *ids, size_t max)
{
    struct tegra *s = (struct tegra *)source;
    if (max == 0)
        return 0;
    ids[0] = (struct gpu_id){.vendor = "nvidia"};
    tegra_board(s->env, ids[0].name);
    s->unnamed = !ids[0].name[0];
    if (s->unnamed)
        str_copy(ids[0].name, sizeof ids[0].name, STR("NVIDIA Tegra"));
    return 1;
}

static bool tegra_changed(struct source *source)
{
    struct tegra *s = (struct tegra *)source;
    char name[GPU_NAME_SIZE] = "";
    if (s->unnamed)
        tegra_board(s->env, name);
    return name[0] != '\0';
}

static void tegra_sample(struct source *source, size_t gpu, unsigned groups, struct gpu *out)
{
    (void)gpu;
    struct tegra *s = (struct tegra *)source;
    struct attrs devfreq;
    if (!tegra_find(s->env, &devfreq))
        gpu_mark_state(out, GPU_LOST, "the GPU's driver was unloaded");
    else if (tegra_is_asleep(&devfreq))
        gpu_mark_state(out, GPU_ASLEEP, NULL);
    else
        tegra_fill(s->env, &devfreq, groups, out);
}

static void tegra_describe(struct source *source, struct buf *out)
{
    struct attrs devfreq;
    if (tegra_find(((struct tegra *)source)->env, &devfreq))
        buf_printf(out, "clocks and load in %s\n", devfreq.path);
}

const struct source_ops tegra_source = {
    .name = "tegra",
    .what = "the GPU of a Jetson through the kernel's files, where NVML cannot be used",
    .instead_of = "nvml",
    .automatic = true,
    .reads_files = true,
    .open = tegra_open,
    .list = tegra_list,
    .sample = tegra_sample,
    .changed = tegra_changed,
    .describe = tegra_describe,
    .close = tegra_close,
};
