/* SPDX-License-Identifier: Apache-2.0
 * What the outputs of nvidia-smi say: its cells, the cards of a report, CSV, and single lines of text.
 */
#include "source/nvidia_smi/nvidia_smi_report.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "model/metric.h"

/* ---- Cells: units are accepted wherever they appear, even with "nounits"; unknown text is a failed reading, never 0 ---- */

/* Texts in place of a value, with or without brackets. */
static const struct {
    const char *text;
    enum reading_state why;
} odd_cells[] = {
    {"", READING_UNSUPPORTED},
    {"N/A", READING_UNSUPPORTED},
    {"Not Supported", READING_UNSUPPORTED},
    {"Not Available", READING_UNSUPPORTED},
    {"Function Not Found", READING_UNSUPPORTED},
    {"Requested functionality has been deprecated", READING_UNSUPPORTED},
    {"Insufficient Permissions", READING_DENIED},
    {"No Permission", READING_DENIED},
    {"Unknown Error", READING_FAILED},
    {"GPU is lost", READING_FAILED},
    {"GPU requires reset", READING_FAILED},
    {"GPU access blocked by the operating system", READING_DENIED},
    {"Timeout", READING_FAILED},
    {"ERR!", READING_FAILED},
    {"Unknown", READING_FAILED},
    {"Not Found", READING_FAILED},
    {"Not Ready", READING_FAILED},
};

static struct str without_brackets(struct str cell)
{
    cell = str_trim(cell);
    if (cell.len >= 2 && cell.at[0] == '[' && cell.at[cell.len - 1] == ']')
        cell = str_trim((struct str){cell.at + 1, cell.len - 2});
    return cell;
}

static bool is_odd(struct str cell, enum reading_state *why)
{
    struct str text = without_brackets(cell);
    for (size_t i = 0; i < ARRAY_LEN(odd_cells); i++)
        if (str_is_any_case(text, odd_cells[i].text)) {
            *why = odd_cells[i].why;
            return true;
        }
    /* Any other text in brackets is an unknown message. */
    *why = READING_FAILED;
    return text.len != str_trim(cell).len;
}

enum cell_trouble cell_trouble(struct str cell)
{
    struct str text = without_brackets(cell);
    if (str_is_any_case(text, "GPU is lost"))
        return TROUBLE_LOST;
    return str_is_any_case(text, "GPU requires reset") ? TROUBLE_RESET : TROUBLE_NONE;
}

/* For each kind of number: its units, scale and plausible range. */
static const struct {
    const char *units[3];       /* "nounits" omits the first */
    int64_t scale, least, most; /* range before scaling */
} numbers[] = {
    [CELL_PERCENT] = {{"%"}, 10, 0, 100},
    [CELL_FAN] = {{"%"}, 10, 0, 255},
    [CELL_MIB] = {{"MiB", "MB"}, 1 << 20, 0, 1LL << 30},
    [CELL_CELSIUS] = {{"C"}, 1000, -100, 250},
    [CELL_WATT] = {{"W"}, 1000, 0, 100000},
    [CELL_MHZ] = {{"MHz"}, 1000, 0, 100000},
    [CELL_MILLIVOLT] = {{"mV"}, 1, 0, 10000},
    [CELL_COUNT] = {{"bank(s)"}, 1, 0, INT64_MAX / 2},
    [CELL_MICROSECONDS] = {{"us"}, 1, 0, INT64_MAX / 2},
    [CELL_KB_PER_S] = {{"KB/s"}, 1000, 0, 1LL << 40},
    [CELL_LANES] = {{"x"}, 1, 0, 64},
};

static bool split_unit(struct str cell, struct str *number, struct str *unit)
{
    size_t len = 0;
    while (len < cell.len && (isdigit((unsigned char)cell.at[len]) || strchr("+-.", cell.at[len])))
        len++;
    *number = (struct str){cell.at, len};
    *unit = str_trim((struct str){cell.at + len, cell.len - len});
    return len > 0;
}

/* All ones in 32 or 64 bits, also in KiB or MiB: a value that was never set. */
static bool is_all_ones(double value)
{
    static const double ones[] = {4294967295.0, 18446744073709551615.0, 18014398509481983.0, 17592186044415.0};
    for (size_t i = 0; i < ARRAY_LEN(ones); i++)
        if (value == ones[i])
            return true;
    return false;
}

static struct reading read_number(struct str cell, enum cell_kind kind)
{
    struct str number, unit;
    if (!split_unit(cell, &number, &unit))
        return reading_absent(READING_FAILED);
    bool known_unit = unit.len == 0;
    for (size_t i = 0; i < ARRAY_LEN(numbers[kind].units) && numbers[kind].units[i]; i++)
        known_unit = known_unit || str_is_any_case(unit, numbers[kind].units[i]);
    double value;
    int64_t scaled;
    if (!known_unit || !str_to_double(number, &value))
        return reading_absent(READING_FAILED);
    if (is_all_ones(value) || value < (double)numbers[kind].least || value > (double)numbers[kind].most)
        return reading_absent(READING_IMPLAUSIBLE);
    if (kind == CELL_MILLIVOLT && value == 0)
        return reading_absent(READING_UNSUPPORTED);                    /* what cards print that don't measure it */
    bool counted = numbers[kind].scale == 1 && kind != CELL_MILLIVOLT; /* beyond the precision of a double */
    if (counted ? !str_to_i64(number, &scaled) : !str_to_scaled(number, numbers[kind].scale, &scaled))
        return reading_absent(READING_FAILED);
    return reading_ok(scaled);
}

static struct reading read_word(struct str cell, const char *const *words, const int64_t *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (str_is_any_case(cell, words[i]))
            return reading_ok(values[i]);
    return reading_absent(READING_FAILED);
}

static struct reading read_bool(struct str cell)
{
    static const char *const words[] = {"Yes", "No", "Enabled", "Disabled",  "Active",      "Not Active", "On",
                                        "Off", "1",  "0",       "Completed", "In Progress", "Not Started"};
    static const int64_t values[] = {1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 0};
    return read_word(cell, words, values, ARRAY_LEN(words));
}

static struct reading read_compute_mode(struct str cell)
{
    static const char *const words[] = {"Default",    "Exclusive_Thread",  "Exclusive Thread",
                                        "Prohibited", "Exclusive_Process", "Exclusive Process"};
    static const int64_t values[] = {0, 1, 1, 2, 3, 3};
    return read_word(cell, words, values, ARRAY_LEN(words));
}

static struct reading read_recovery(struct str cell)
{
    static const char *const words[] = {"None",      "Reset",           "GPU Reset",   "Reboot",    "Node Reboot",
                                        "Drain P2P", "Drain and Reset", "Drain/Reset", "Bus Reset", "System Reboot"};
    static const int64_t values[] = {0, 1, 1, 2, 2, 3, 4, 4, 6, 7};
    return read_word(cell, words, values, ARRAY_LEN(words));
}

/* The driver's bits match enum throttle up to the display's; R615 has one for reliability. */
static struct reading read_throttle(struct str cell)
{
    const uint64_t named = (THROTTLE_DISPLAY << 1) - 1, reliability = 0x400;
    uint64_t mask;
    if (!str_to_u64(cell, &mask))
        return reading_absent(READING_FAILED);
    return reading_ok((int64_t)(mask & named) | (mask & reliability ? THROTTLE_RELIABILITY : 0) |
                      (mask & ~(named | reliability) ? THROTTLE_OTHER : 0));
}

static struct reading read_pstate(struct str cell)
{
    int64_t state;
    if (cell.len < 2 || toupper((unsigned char)cell.at[0]) != 'P' || !str_to_i64((struct str){cell.at + 1, cell.len - 1}, &state) ||
        state < 0 || state > 15)
        return reading_absent(READING_FAILED);
    return reading_ok(state);
}

struct reading cell_read(struct str cell, enum cell_kind kind)
{
    enum reading_state why;
    cell = str_trim(cell);
    if (is_odd(cell, &why))
        return reading_absent(why);
    switch (kind) {
    case CELL_THROTTLE: return read_throttle(cell);
    case CELL_BOOL: return read_bool(cell);
    case CELL_PSTATE: return read_pstate(cell);
    case CELL_COMPUTE_MODE: return read_compute_mode(cell);
    case CELL_RECOVERY: return read_recovery(cell);
    case CELL_TEXT:
    case CELL_WORD:
    case CELL_PCI_ID: return reading_absent(READING_FAILED);
    default: return read_number(cell, kind);
    }
}

/* "0x233510DE" or "233510DE": device, then vendor */
static bool write_pci_id(struct str cell, char *to, size_t size)
{
    if (str_starts(cell, "0x") || str_starts(cell, "0X"))
        cell = (struct str){cell.at + 2, cell.len - 2};
    char digits[9];
    if (cell.len != 8)
        return false;
    for (size_t i = 0; i < 8; i++) {
        if (!isxdigit((unsigned char)cell.at[i]))
            return false;
        digits[i] = (char)tolower((unsigned char)cell.at[i]);
    }
    digits[8] = '\0';
    snprintf(to, size, "%.4s:%.4s", digits + 4, digits);
    return true;
}

bool cell_text(struct str cell, enum cell_kind kind, char *to, size_t size, enum reading_state *why)
{
    to[0] = '\0';
    cell = str_trim(cell);
    if (is_odd(cell, why))
        return false;
    if (kind == CELL_PCI_ID) {
        *why = READING_FAILED;
        return write_pci_id(cell, to, size);
    }
    str_copy_clean(to, size, cell);
    for (char *c = to; kind == CELL_WORD && *c; c++)
        *c = (char)tolower((unsigned char)*c);
    return true;
}

/* ---- Cards of a report, and storing values in them ---- */

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

/* ---- CSV output of nvidia-smi: "a, b, c" without quotes, so that only counting tells a comma in a name from a separator. */

enum { CELLS_MAX = 400 }; /* the newest drivers have some 250 columns */

/* Cuts off the next cell. Handles quotes, should they ever appear. */
static bool next_cell(struct str *rest, struct str *cell)
{
    if (!rest->at)
        return false;
    struct str s = *rest;
    size_t start = 0;
    while (start < s.len && s.at[start] == ' ')
        start++;
    bool quoted = start < s.len && s.at[start] == '"';
    const char *close = quoted ? memchr(s.at + start + 1, '"', s.len - start - 1) : NULL;
    size_t from = close ? (size_t)(close - s.at) : 0;
    const char *comma = memchr(s.at + from, ',', s.len - from);
    size_t len = comma ? (size_t)(comma - s.at) : s.len;
    *cell = str_trim((struct str){s.at, len});
    if (close && cell->len >= 2 && cell->at[cell->len - 1] == '"')
        *cell = str_trim((struct str){cell->at + 1, cell->len - 2});
    *rest = comma ? (struct str){s.at + len + 1, s.len - len - 1} : (struct str){NULL, 0};
    return true;
}

/* Splits a line; extra cells beyond `want` are joined to cell `greedy`, whose text has commas. */
static size_t split(struct str line, struct str *cells, size_t want, size_t greedy)
{
    size_t count = 0;
    while (count < CELLS_MAX && next_cell(&line, &cells[count]))
        count++;
    if (count <= want || greedy >= want)
        return count;
    size_t surplus = count - want;
    const char *end = cells[greedy + surplus].at + cells[greedy + surplus].len;
    cells[greedy].len = (size_t)(end - cells[greedy].at);
    for (size_t i = greedy + 1; i < want; i++)
        cells[i] = cells[i + surplus];
    return want;
}

/* Lines end with \n or \r\n; the last may have neither. */
static bool next_line(struct str *text, struct str *line)
{
    while (str_cut(text, '\n', line)) {
        *line = str_trim(*line);
        if (line->len)
            return true;
    }
    return false;
}

size_t smi_read_header(struct str line, const struct smi_field **columns, size_t max)
{
    size_t count = 0;
    struct str cell;
    while (count < max && next_cell(&line, &cell))
        columns[count++] = smi_column_find(cell);
    return count;
}

static size_t position(const struct smi_field *const *columns, size_t count, enum field_target target)
{
    for (size_t i = 0; i < count; i++)
        if (columns[i] && columns[i]->target == target)
            return i;
    return count;
}

/* A parsed line. */
struct smi_row {
    bool is_row, nameless; /* nameless: about a GPU, but unknown which */
    char uuid[GPU_UUID_SIZE], pci[GPU_PCI_SIZE];
};

/* A row is recognized by its card's identifiers; an error message has as many commas only by accident, and no number in front.
 * The index may be missing ("[Unknown Error]"): it doesn't identify a card unless nothing else was queried. */
static struct smi_row identify(const struct str *cells, size_t cell_count, const struct smi_field *const *columns, size_t count)
{
    size_t index = position(columns, count, FIELD_INDEX), uuid = position(columns, count, FIELD_UUID);
    size_t pci = position(columns, count, FIELD_PCI);
    struct smi_row row = {0};
    enum reading_state why;
    int64_t number;
    if (cell_count != count)
        return row;
    if (uuid < count)
        cell_text(cells[uuid], CELL_TEXT, row.uuid, sizeof row.uuid, &why);
    if (pci < count)
        smi_pci_address(cells[pci], row.pci);
    bool numbered = index < count && str_to_i64(cells[index], &number);
    bool no_number = index < count && (!cells[index].len || cells[index].at[0] == '[');
    bool told = row.pci[0] || (numbered ? row.uuid[0] != '\0' : str_starts(str_from(row.uuid), "GPU-"));
    row.is_row = told || numbered || no_number;
    row.nameless = !told && (no_number || uuid < count || pci < count);
    return row;
}

static void read_row(struct smi_report *r, const struct smi_row *row, const struct str *cells,
                     const struct smi_field *const *columns, size_t count)
{
    struct smi_card *card = smi_report_card(r, row->uuid, row->pci);
    if (!card)
        return;
    enum cell_trouble trouble = TROUBLE_NONE;
    struct str words = {"", 0};
    for (size_t i = 0; i < count; i++) {
        if (!columns[i])
            continue;
        smi_apply(card, columns[i], cells[i]);
        enum cell_trouble told = cell_trouble(cells[i]);
        if (told > trouble) {
            trouble = told;
            words = told == TROUBLE_LOST ? STR("GPU is lost") : STR("GPU requires reset");
        }
    }
    smi_finish(card, trouble, words);
}

size_t smi_read_csv(struct smi_report *r, struct str text, const struct smi_field *const *columns, size_t count)
{
    struct str cells[CELLS_MAX + 1], line;
    size_t rows = 0, name = position(columns, count, FIELD_NAME);
    while (next_line(&text, &line)) {
        struct smi_row row = identify(cells, split(line, cells, count, name), columns, count);
        if (!row.is_row)
            continue;
        rows++;
        if (row.nameless)
            r->nameless++;
        else
            read_row(r, &row, cells, columns, count);
    }
    return rows;
}

static struct smi_card *card_of_uuid(struct smi_report *r, struct str uuid)
{
    for (size_t i = 0; i < r->count; i++)
        if (r->cards[i].gpu.id.uuid[0] && str_is(uuid, r->cards[i].gpu.id.uuid))
            return &r->cards[i];
    return NULL;
}

size_t smi_read_apps(struct smi_report *r, struct str text)
{
    enum { PID, NAME, MEMORY, UUID, COLUMNS };
    struct str cells[CELLS_MAX + 1], line;
    size_t rows = 0;
    while (next_line(&text, &line)) {
        int64_t pid;
        if (split(line, cells, COLUMNS, NAME) != COLUMNS || !str_to_i64(cells[PID], &pid) || pid <= 0 || pid > INT32_MAX)
            continue;
        rows++;
        struct smi_card *card = card_of_uuid(r, cells[UUID]);
        struct process *p = card ? gpu_find_process(&card->gpu, (int32_t)pid) : NULL;
        if (card && !p)
            p = gpu_add_process(&card->gpu, (int32_t)pid);
        if (!p)
            continue;
        /* A process in several MIG instances has a row for each. */
        struct reading memory = cell_read(cells[MEMORY], CELL_MIB);
        if (p->mem_bytes.state == READING_OK && memory.state == READING_OK)
            memory.value += p->mem_bytes.value;
        if (p->mem_bytes.state != READING_OK || memory.state == READING_OK)
            p->mem_bytes = memory;
        p->type |= PROCESS_COMPUTE;
        smi_process_name(cells[NAME], p->name, sizeof p->name);
    }
    return rows;
}

/* ---- Failures: what is wrong and what to do ---- */

/* The sentence is ours, the words in parentheses are the tool's, for people who search for them. */
static const struct {
    const char *says; /* part of the message */
    int code;
    const char *sentence;
} messages[] = {
    {"couldn't communicate with the NVIDIA driver", -ENODEV,
     "the NVIDIA driver is not running: load it (modprobe nvidia) or install it for the running kernel"},
    {"Driver/library version mismatch", -ENODEV,
     "the NVIDIA driver in the kernel and its libraries have different versions, as after an upgrade: reboot, or reload the nvidia "
     "kernel modules"},
    {"No devices were found", -ENODEV, "the NVIDIA driver runs but finds no GPU that it can use: look at the kernel log (dmesg)"},
    {"GPU access blocked by the operating system", -EACCES,
     "the operating system blocks access to the GPU: under WSL, update Windows and its NVIDIA driver"},
    {"Insufficient Permissions", -EACCES, "no permission to use the NVIDIA driver: check the device files /dev/nvidia*"},
    {"Failed to initialize NVML: Unknown Error", -ENODEV,
     "NVML cannot be initialized: in a container, access to /dev/nvidia* was taken away after its start, restart the container"},
    {"Failed to initialize NVML: Driver Not Loaded", -ENODEV, "the NVIDIA driver is not loaded: modprobe nvidia"},
    {"Failed to initialize NVML", -ENODEV, "NVML cannot be initialized"},
    {"couldn't find libnvidia-ml.so", -ENODEV,
     "the library libnvidia-ml.so of the NVIDIA driver is missing: install the driver's "
     "utilities, or pass them into the container"},
    {"GPU is lost", -EIO, "a GPU is lost and hides the others: reboot the host, or reset the GPU"},
    {"Unable to determine the device handle", -EIO, "a GPU cannot be reached and hides the others: look at the kernel log (dmesg)"},
};

/* The first non-empty line. */
static struct str first_line(struct str output)
{
    struct str line;
    while (str_cut(&output, '\n', &line)) {
        line = str_trim(line);
        if (line.len)
            return line;
    }
    return (struct str){"", 0};
}

int smi_explain(struct str output, int status, struct error *err)
{
    char words[200];
    str_copy_clean(words, sizeof words, first_line(output));
    for (size_t i = 0; i < ARRAY_LEN(messages); i++)
        if (str_contains(output, messages[i].says))
            return error_set(err, messages[i].code, "%s (%s)", messages[i].sentence, words);
    if (words[0])
        return error_set(err, -EIO, "nvidia-smi failed with status %d (%s)", status, words);
    return error_set(err, -EIO, "nvidia-smi failed with status %d and no message", status);
}

bool smi_unknown_column(struct str output, struct str *column)
{
    static const char mark[] = "Field \"", end[] = "\" is not a valid field";
    const char *start = output.len ? memmem(output.at, output.len, mark, sizeof mark - 1) : NULL;
    if (!start)
        return false;
    start += sizeof mark - 1;
    const char *stop = memmem(start, output.len - (size_t)(start - output.at), end, sizeof end - 1);
    if (!stop)
        return false;
    *column = (struct str){start, (size_t)(stop - start)};
    return true;
}

bool smi_unknown_option(struct str output)
{
    return str_contains(output, "Invalid combination of input arguments") || str_contains(output, "nrecognized option") ||
           str_contains(output, "not a recognized option");
}
