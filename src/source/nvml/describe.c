/* SPDX-License-Identifier: Apache-2.0
 * Output for doctor: the library, what it lacks, and what each card refuses.
 */
#include "source/nvml/internal.h"

static void describe_library(struct nvml *n, struct buf *out)
{
    buf_printf(out, "library %s", library_path(n->lib.handle));
    if (n->driver.nvml_version[0])
        buf_printf(out, ", NVML %s, driver %s, CUDA %s", n->driver.nvml_version, n->driver.driver_version, n->driver.cuda_version);
    buf_text(out, "\n");
    if (n->lib.place[0])
        buf_text(out, "found in a place that the loader does not know\n");
    int version;
    size_t size = process_entry_size(&n->lib, &version);
    if (size)
        buf_printf(out, "process lists: version %d, %zu bytes an entry\n", version, size);
    AUTO_BUF struct buf missing = BUF(8192);
    nvml_library_missing(&n->lib, &missing);
    if (missing.len)
        buf_printf(out, "not in this version of the library: " STR_FMT "\n", STR_ARG(buf_view(&missing)));
}

static void describe_card(struct nvml *n, size_t index, struct buf *out)
{
    const struct nvml_card *card = &n->cards[index];
    buf_printf(out, "GPU %zu %s %s:", index, card->id.pci_address, card->id.name[0] ? card->id.name : "without a name");
    if (card->asleep)
        buf_text(out, " asleep, not touched\n");
    else if (card->resting)
        buf_text(out, " idle, left alone so that it can fall asleep\n");
    else if (card->trouble)
        buf_printf(out, " %s\n", nvml_words(&n->lib, card->trouble));
    else if (!card->sampled)
        buf_text(out, " not read yet\n");
    else
        buf_printf(out, " %s%s\n", card->mig_enabled ? "divided into instances; " : "", "not supported or not permitted:");
    if (card->asleep || card->resting || card->trouble || !card->sampled)
        return;
    query_describe(n, card, out);
    fields_describe(n, card, out);
    if (card->gpm.refused)
        buf_text(out, "  profiling metrics (GPM): this GPU or driver has none\n");
    if (card->refused_utilization)
        buf_printf(out, "  utilization of processes: %s\n", nvml_words(&n->lib, card->refused_utilization));
}

void describe(struct nvml *n, struct buf *out)
{
    if (n->visible == VISIBLE_NONE)
        buf_printf(out, "NVIDIA_VISIBLE_DEVICES=%s hides every GPU\n", n->env->visible_devices);
    else if (n->visible != VISIBLE_ALL)
        buf_printf(out, "NVIDIA_VISIBLE_DEVICES=%s hides %zu GPUs\n", n->env->visible_devices, n->hidden);
    if (n->visible == VISIBLE_NONE)
        return;
    describe_library(n, out);
    nvapi_describe(n, out);
    if (!n->running)
        buf_text(out, "closed: all GPUs are asleep\n");
    for (size_t i = 0; i < n->card_count; i++)
        describe_card(n, i, out);
}
