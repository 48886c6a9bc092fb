/* SPDX-License-Identifier: Apache-2.0
 * CSV output of nvidia-smi: "a, b, c" without quotes, so that only counting tells a comma in a name from a separator.
 */
#include "source/nvidia_smi/nvidia_smi_report.h"

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

/* Lines end with
 *  or \r
 * ; the last may have neither. */
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
