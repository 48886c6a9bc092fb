/* SPDX-License-Identifier: Apache-2.0
 * The smallest whole source: the driver of a made-up vendor shows each card in /sys/class/skeleton/cardN, one file a value.
 */
#include "skeleton.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "source/sysfs/attrs.h"

#define SKELETON_CLASS "/sys/class/skeleton"

struct skeleton {
    struct source source; /* the common beginning */
    const struct env *env;
    size_t count; /* cards that were listed; it only grows, so that a lost card keeps its place */
};

static bool skeleton_card(const struct env *env, size_t card, struct attrs *ret)
{
    return attrs_init(ret, env, SKELETON_CLASS "/card%zu", card) == 0 && attrs_exists(ret, "uuid");
}

static size_t skeleton_count(const struct env *env)
{
    struct attrs card;
    size_t count = 0;
    while (count < GPU_MAX && skeleton_card(env, count, &card))
        count++;
    return count;
}

static int skeleton_open(const struct env *env, const char *params, struct source **ret, struct error *err)
{
    int wrong = source_check(&skeleton_source, params, err);
    if (wrong < 0)
        return wrong;
    size_t count = skeleton_count(env);
    if (count == 0)
        return error_set(err, -ENODEV, "no GPUs in " SKELETON_CLASS);
    struct skeleton *s = malloc(sizeof *s);
    if (!s)
        return error_set(err, -ENOMEM, "out of memory");
    *s = (struct skeleton){.source.ops = &skeleton_source, .env = env, .count = count};
    *ret = &s->source;
    return 0;
}

static void skeleton_close(struct source *source)
{
    free(source);
}

static bool skeleton_changed(struct source *source)
{
    struct skeleton *s = (struct skeleton *)source;
    return skeleton_count(s->env) > s->count;
}

static int skeleton_list(struct source *source, struct gpu_id *ids, size_t max)
{
    struct skeleton *s = (struct skeleton *)source;
    s->count = MAX_OF(s->count, skeleton_count(s->env));
    size_t count = MIN_OF(s->count, max);
    for (size_t i = 0; i < count; i++) {
        struct attrs card;
        ids[i] = (struct gpu_id){.vendor = "skeleton"};
        if (!skeleton_card(s->env, i, &card))
            continue; /* the engine remembers which card it was */
        attrs_text(&card, "uuid", ids[i].uuid, sizeof ids[i].uuid);
        attrs_text(&card, "pci_address", ids[i].pci_address, sizeof ids[i].pci_address);
        attrs_text(&card, "name", ids[i].name, sizeof ids[i].name);
    }
    return (int)count;
}

/* The driver's words for lowered clocks, and the model's bits for them. */
static struct reading skeleton_throttle(struct attrs *card)
{
    static const struct {
        const char *word;
        enum throttle bit;
    } reasons[] = {{"power", THROTTLE_POWER_CAP}, {"heat", THROTTLE_HW_THERMAL}};
    char text[64];
    ssize_t len = attrs_text(card, "throttle", text, sizeof text);
    if (len < 0)
        return reading_absent(attrs_state((int)len));
    struct str rest = str_from(text), word;
    int64_t bits = 0;
    while (str_cut(&rest, ' ', &word)) {
        enum throttle bit = THROTTLE_OTHER;
        for (size_t i = 0; i < ARRAY_LEN(reasons); i++)
            if (str_is(word, reasons[i].word))
                bit = reasons[i].bit;
        bits |= bit;
    }
    return reading_ok(bits);
}

static void skeleton_sample(struct source *source, size_t gpu, unsigned groups, struct gpu *out)
{
    struct skeleton *s = (struct skeleton *)source;
    struct attrs card;
    if (!skeleton_card(s->env, gpu, &card)) {
        gpu_mark_state(out, GPU_LOST, "the GPU was removed or its driver unbound");
        return;
    }
    if (groups & GROUP_STATIC)
        gpu_set_property(out, PROPERTY_driver, "skeleton");
    if (!(groups & GROUP_FAST))
        return;
    out->util_permille = attrs_reading(&card, "busy_percent", 10, 1);
    out->mem_total_bytes = attrs_reading(&card, "memory_total", 1, 1);
    out->mem_used_bytes = attrs_reading(&card, "memory_used", 1, 1);
    out->temp_mdegc = attrs_reading(&card, "temperature", 1000, 1);
    out->power_mw = attrs_reading(&card, "power_uw", 1, 1000);
    out->throttle_bits = skeleton_throttle(&card);
}

static void skeleton_describe(struct source *source, struct buf *out)
{
    struct skeleton *s = (struct skeleton *)source;
    buf_printf(out, "%zu GPUs in " SKELETON_CLASS "\n", s->count);
}

const struct source_ops skeleton_source = {
    .name = "skeleton",
    .what = "GPUs of the made-up vendor skeleton through the kernel's files",
    .automatic = true,
    .reads_files = true,
    .open = skeleton_open,
    .list = skeleton_list,
    .sample = skeleton_sample,
    .changed = skeleton_changed,
    .describe = skeleton_describe,
    .close = skeleton_close,
};
