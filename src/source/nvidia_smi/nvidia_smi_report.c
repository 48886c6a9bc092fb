/* SPDX-License-Identifier: Apache-2.0
 * Cards of a report, and storing values in them.
 */
#include "source/nvidia_smi/nvidia_smi_report.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"

void smi_report_done(struct smi_report *r)
{
    for (size_t i = 0; i < r->count; i++)
        gpu_done(&r->cards[i].gpu);
    free(r->cards);
    *r = (struct smi_report){0};
}

bool smi_pci_address(struct str text, char to[GPU_PCI_SIZE])
{
    unsigned domain, bus, device, function;
    char copy[32], end;
    to[0] = '\0';
    text = str_trim(text);
    if (text.len >= sizeof copy || memchr(text.at, '\0', text.len))
        return false;
    str_copy(copy, sizeof copy, text);
    if (sscanf(copy, "%8x:%2x:%2x.%1x%c", &domain, &bus, &device, &function, &end) != 4 || domain > 0xffffff)
        return false;
    snprintf(to, GPU_PCI_SIZE, "%04x:%02x:%02x.%x", domain, bus, device, function);
    return true;
}

struct smi_card *smi_report_card(struct smi_report *r, const char *uuid, const char *pci_address)
{
    for (size_t i = 0; i < r->count; i++) {
        struct gpu_id *id = &r->cards[i].gpu.id;
        if ((uuid[0] && strcmp(id->uuid, uuid) == 0) || (pci_address[0] && strcmp(id->pci_address, pci_address) == 0))
            return &r->cards[i];
    }
    if (r->count >= GPU_MAX)
        return NULL;
    struct smi_card *more = realloc(r->cards, (r->count + 1) * sizeof *more);
    if (!more) {
        r->no_memory = true;
        return NULL;
    }
    r->cards = more;
    struct smi_card *card = &more[r->count++];
    *card = (struct smi_card){.index = -1};
    str_copy(card->gpu.id.uuid, sizeof card->gpu.id.uuid, str_from(uuid));
    str_copy(card->gpu.id.pci_address, sizeof card->gpu.id.pci_address, str_from(pci_address));
    str_copy(card->gpu.id.vendor, sizeof card->gpu.id.vendor, STR("nvidia"));
    return card;
}

static void apply_metric(struct gpu *gpu, const struct smi_field *field, struct reading value)
{
    struct reading *to = &gpu->metric[field->id];
    if (value.state != READING_OK) {
        if (to->state == READING_UNREAD)
            *to = value;
        return;
    }
    if (field->bit)
        value.value = value.value ? field->bit : 0;
    if (to->state == READING_OK && field->adds)
        to->value += value.value;
    else if (to->state != READING_OK)
        *to = value;
}

void smi_apply(struct smi_card *card, const struct smi_field *field, struct str cell)
{
    struct gpu *gpu = &card->gpu;
    enum reading_state why;
    int64_t number;
    switch (field->target) {
    case FIELD_METRIC: apply_metric(gpu, field, cell_read(cell, field->kind)); break;
    case FIELD_MARGIN:
        if (card->margin_count < SMI_MARGINS) {
            card->margins[card->margin_count].metric = field->id;
            card->margins[card->margin_count++].at = cell_read(cell, field->kind);
        }
        break;
    case FIELD_PROPERTY: {
        struct property_text *to = &gpu->property[field->id];
        to->state = cell_text(cell, field->kind, to->value, sizeof to->value, &why) ? READING_OK : why;
        break;
    }
    case FIELD_INDEX:
        if (str_to_i64(cell, &number) && number >= 0 && number < 1 << 16)
            card->index = (int)number;
        break;
    case FIELD_NAME: cell_text(cell, CELL_TEXT, gpu->id.name, sizeof gpu->id.name, &why); break;
    case FIELD_UUID: cell_text(cell, CELL_TEXT, gpu->id.uuid, sizeof gpu->id.uuid, &why); break;
    case FIELD_PCI: smi_pci_address(cell, gpu->id.pci_address); break;
    }
}

/* Newer cards give thresholds as margins: "slows down at a margin of -2 C". Simultaneous temperature and margin yield a
 * temperature. */
static void margins_to_temperatures(struct smi_card *card)
{
    struct gpu *gpu = &card->gpu;
    int64_t temp, margin, at;
    if (!reading_get(gpu->temp_mdegc, &temp) || !reading_get(gpu->temp_margin_mdegc, &margin))
        return;
    for (size_t i = 0; i < card->margin_count; i++) {
        struct reading *threshold = &gpu->metric[card->margins[i].metric];
        if (threshold->state != READING_OK && reading_get(card->margins[i].at, &at))
            *threshold = reading_ok(temp + margin - at);
    }
}

/* Some cards and drivers give only the instantaneous draw. */
static void choose_power(struct gpu *gpu)
{
    if (gpu->power_mw.state != READING_OK && gpu->power_instant_mw.state == READING_OK)
        gpu->power_mw = gpu->power_instant_mw;
}

void smi_finish(struct smi_card *card, enum cell_trouble trouble, struct str words)
{
    struct gpu *gpu = &card->gpu;
    margins_to_temperatures(card);
    choose_power(gpu);
    char message[GPU_ERROR_SIZE];
    str_copy_clean(message, sizeof message, words);
    if (trouble == TROUBLE_LOST) {
        gpu_mark_state(gpu, GPU_LOST, message);
    } else if (trouble == TROUBLE_RESET) {
        /* Keep what can still be read. */
        gpu->state = GPU_ERROR;
        str_copy(gpu->error_message, sizeof gpu->error_message, str_from(message));
    }
}

void smi_process_name(struct str cell, char *to, size_t size)
{
    enum reading_state why;
    char text[512];
    to[0] = '\0';
    if (!cell_text(cell, CELL_TEXT, text, sizeof text, &why) || strcmp(text, "-") == 0)
        return;
    /* Newer drivers append arguments; Windows paths contain blanks. */
    char *options = strstr(text, " -");
    if (options)
        *options = '\0';
    const char *base = text;
    for (const char *c = text; *c; c++)
        if ((*c == '/' || *c == '\\') && c[1])
            base = c + 1;
    str_copy(to, size, str_trim(str_from(base)));
}

static bool find_after(struct str text, const char *mark, struct str *ret)
{
    const char *found = memmem(text.at, text.len, mark, strlen(mark));
    if (!found)
        return false;
    size_t skipped = (size_t)(found - text.at) + strlen(mark);
    *ret = (struct str){text.at + skipped, text.len - skipped};
    return true;
}

size_t smi_lost_cards(struct smi_report *r, struct str text)
{
    static const char mark[] = "Unable to determine the device handle for GPU";
    struct str line, rest;
    size_t count = 0;
    while (str_cut(&text, '\n', &line)) {
        if (!find_after(line, mark, &rest))
            continue;
        /* "GPU 0000:05:00.0: GPU is lost.", "GPU0000:CB:00.0: Unknown Error", "GPU1: 0000:34:00.0: Unknown Error": find the
         * address by its dot. */
        char address[GPU_PCI_SIZE] = "";
        struct str reason = {"", 0};
        for (size_t start = 0; start < rest.len && !address[0]; start++) {
            const char *end = memmem(rest.at + start, rest.len - start, ": ", 2);
            if (end && smi_pci_address((struct str){rest.at + start, (size_t)(end - rest.at) - start}, address))
                reason = str_trim((struct str){end + 2, rest.len - (size_t)(end + 2 - rest.at)});
        }
        struct smi_card *card = address[0] ? smi_report_card(r, "", address) : NULL;
        if (!card)
            continue;
        smi_finish(card, TROUBLE_LOST, reason.len ? reason : STR("cannot be reached"));
        count++;
    }
    return count;
}

void smi_read_version(struct driver_info *to, struct str text)
{
    static const struct {
        const char *name;
        size_t at, size;
    } lines[] = {
        {"NVML version", offsetof(struct driver_info, nvml_version), sizeof to->nvml_version},
        {"DRIVER version", offsetof(struct driver_info, driver_version), sizeof to->driver_version},
        {"KMD version", offsetof(struct driver_info, driver_version), sizeof to->driver_version},
        {"CUDA Version", offsetof(struct driver_info, cuda_version), sizeof to->cuda_version},
        {"CUDA UMD Version", offsetof(struct driver_info, cuda_version), sizeof to->cuda_version},
    };
    struct str line, name;
    while (str_cut(&text, '\n', &line)) {
        if (!str_cut(&line, ':', &name))
            continue;
        enum reading_state why;
        if (str_starts(str_trim(line), "Deprecated")) /* 610 and later: the next line has it */
            continue;
        for (size_t i = 0; i < ARRAY_LEN(lines); i++)
            if (str_is_any_case(str_trim(name), lines[i].name))
                cell_text(line, CELL_TEXT, (char *)to + lines[i].at, lines[i].size, &why);
    }
}
