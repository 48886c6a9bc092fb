/* SPDX-License-Identifier: Apache-2.0
 * Reads values whose type and unit change between releases.
 */
#include "source/rocm_smi/rocm_json.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include "base/cleanup.h"
#include "source/sysfs/sysfs_card.h"

void rocm_cards_done(struct rocm_cards *c)
{
    for (size_t i = 0; i < c->count; i++)
        gpu_done(&c->cards[i]);
    free(c->cards);
    *c = (struct rocm_cards){0};
}

json_t *rocm_load(struct str text, struct error *err)
{
    size_t start = 0;
    while (start < text.len && text.at[start] != '{' && text.at[start] != '[')
        start++;
    json_error_t problem;
    json_t *root = start < text.len ? json_loadb(text.at + start, text.len - start, JSON_DISABLE_EOF_CHECK, &problem) : NULL;
    if (!root)
        error_set(err, -EBADMSG, "its output is not JSON%s%s", start < text.len ? ": " : "", start < text.len ? problem.text : "");
    return root;
}

struct gpu *rocm_add(struct rocm_cards *c)
{
    if (c->count == GPU_MAX)
        return NULL;
    struct gpu *more = realloc(c->cards, (c->count + 1) * sizeof *more);
    if (!more) {
        c->no_memory = true;
        return NULL;
    }
    c->cards = more;
    c->cards[c->count] = (struct gpu){.id = {.vendor = "amd"}};
    return &c->cards[c->count++];
}

int rocm_cards_check(const struct rocm_cards *c, struct error *err)
{
    if (c->no_memory)
        return error_set(err, -ENOMEM, "out of memory");
    return c->count ? 0 : error_set(err, -ENODEV, "it lists no GPU");
}

const char *rocm_text(const json_t *value)
{
    static const char *const nothing[] = {"", "N/A", "None", "unknown", "Unknown", "Unsupported", "Not supported"};
    const char *text = json_string_value(value);
    for (size_t i = 0; text && i < ARRAY_LEN(nothing); i++)
        if (strcasecmp(text, nothing[i]) == 0)
            return NULL;
    return text;
}

static struct reading from_double(double number, int64_t scale)
{
    number *= (double)scale;
    return isfinite(number) && fabs(number) < 9e18 ? reading_ok(llround(number)) : reading_absent(READING_FAILED);
}

struct reading rocm_number(const json_t *value, int64_t scale)
{
    if (json_is_object(value))
        value = json_object_get(value, "value");
    if (json_is_number(value))
        return from_double(json_number_value(value), scale);
    const char *text = rocm_text(value);
    double number;
    if (!text || !str_to_double(str_from(text), &number))
        return reading_absent(READING_UNSUPPORTED); /* also "N/A (Secondary die)" */
    return from_double(number, scale);
}

void rocm_set_property(struct gpu *g, enum property property, const json_t *value)
{
    const char *text = rocm_text(value);
    if (text)
        gpu_set_property(g, property, text);
}

void rocm_set_pci(struct gpu *g, const char *text)
{
    if (!text || strlen(text) != 12)
        return;
    for (size_t i = 0; i <= 12; i++)
        g->id.pci_address[i] = text[i] >= 'A' && text[i] <= 'F' ? (char)(text[i] - 'A' + 'a') : text[i];
}

void rocm_set_unique_id(struct gpu *g, const char *text)
{
    uint64_t id;
    char hex[32];
    if (!text)
        return;
    snprintf(hex, sizeof hex, "%s%s", strncasecmp(text, "0x", 2) == 0 ? "" : "0x", text);
    if (str_to_u64(str_from(hex), &id) && id != 0)
        snprintf(g->id.uuid, sizeof g->id.uuid, "amd-%016llx", (unsigned long long)id);
}

void rocm_set_name(struct gpu *g, const char *text, uint32_t device, int revision)
{
    /* ROCm 4.3 prints the vendor ID as series, model and vendor. */
    if (text && strncmp(text, "0x", 2) != 0) {
        const char *open = strchr(text, '['), *close = open ? strchr(open, ']') : NULL;
        struct str product = close ? (struct str){open + 1, (size_t)(close - open - 1)} : str_from(text);
        char name[GPU_NAME_SIZE];
        str_copy_clean(name, sizeof name, str_trim(product));
        snprintf(g->id.name, sizeof g->id.name, "%s%s", strncmp(name, "AMD", 3) == 0 ? "" : "AMD ", name);
        return;
    }
    struct drm_card card = {.vendor = 0x1002, .device = device, .revision = revision};
    const char *known = gpu_known_name(&card);
    if (known)
        str_copy(g->id.name, sizeof g->id.name, str_from(known));
    else if (device)
        snprintf(g->id.name, sizeof g->id.name, "AMD GPU 1002:%04x", device & 0xffff);
}

/* By the compiler's name of the chip; in releases without it, by a carve-out too small for a discrete card. */
static bool is_apu(const struct gpu *g)
{
    static const char *const chips[] = {"gfx902",  "gfx909",  "gfx90c",  "gfx1013", "gfx1033", "gfx1035", "gfx1036",
                                        "gfx1037", "gfx1103", "gfx1150", "gfx1151", "gfx1152", "gfx1153"};
    int64_t vram, gtt;
    if (g->compute_capability.state == READING_OK)
        return NAME_IN(chips, str_from(g->compute_capability.value));
    return reading_get(g->mem_total_bytes, &vram) && reading_get(g->gtt_total_bytes, &gtt) && vram <= INT64_C(2) << 30 &&
           gtt > vram;
}

void rocm_finish_memory(struct gpu *g)
{
    int64_t total, used, more_total, more_used;
    if (is_apu(g) && reading_get(g->mem_total_bytes, &total) && reading_get(g->mem_used_bytes, &used) &&
        reading_get(g->gtt_total_bytes, &more_total) && reading_get(g->gtt_used_bytes, &more_used)) {
        g->mem_total_bytes = reading_ok(total + more_total);
        g->mem_used_bytes = reading_ok(used + more_used);
        gpu_set_property(g, PROPERTY_memory_kind, "shared");
    }
    if (reading_get(g->mem_total_bytes, &total) && reading_get(g->mem_used_bytes, &used) && used <= total)
        g->mem_free_bytes = reading_ok(total - used);
}
