/* SPDX-License-Identifier: Apache-2.0
 * Outputs of nvidia-smi. The first byte chooses the reader; whatever comes, readings stay within what hardware can have and texts
 * within their bounds.
 */
#include <stdlib.h>

#include "source/nvidia_smi/nvidia_smi_report.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds)
        abort();
}

static void cards_are_sound(const struct smi_report *r)
{
    require(r->count <= GPU_MAX);
    for (size_t i = 0; i < r->count; i++) {
        const struct gpu *gpu = &r->cards[i].gpu;
        int64_t value;
        require(!reading_get(gpu->util_permille, &value) || (value >= 0 && value <= 1000));
        require(!reading_get(gpu->mem_used_bytes, &value) || value >= 0);
        require(!reading_get(gpu->temp_mdegc, &value) || (value >= -100000 && value <= 250000));
        require(gpu->process_count <= GPU_PROCESSES_MAX && gpu->instance_count <= GPU_INSTANCES_MAX);
        for (size_t k = 0; k < gpu->process_count; k++) {
            require(gpu->processes[k].pid > 0 && gpu->processes[k].type >= PROCESS_COMPUTE &&
                    gpu->processes[k].type <= PROCESS_BOTH);
            require(gpu->processes[k].instance >= -1 && gpu->processes[k].instance < (int)gpu->instance_count);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    struct str text = {(const char *)data + 1, size - 1}, column, header = text;
    AUTO_REPORT struct smi_report r = {0};
    const struct smi_field *columns[COLUMN_COUNT_MAX];
    struct driver_info driver = {0};
    struct error err = {0};
    switch (data[0] % 5) {
    case 0:
        if (str_cut(&text, '\n', &header))
            smi_read_csv(&r, text, columns, smi_read_header(header, columns, COLUMN_COUNT_MAX));
        smi_read_apps(&r, text);
        break;
    case 1: {
        size_t count = 10;
        for (size_t i = 0; i < count; i++)
            columns[i] = &smi_columns[i];
        smi_read_csv(&r, text, columns, count);
        smi_lost_cards(&r, text);
        smi_read_apps(&r, text);
        break;
    }
    case 2:
        smi_read_xml(&r, text, &err);
        smi_read_list(&r, text);
        break;
    case 3:
        require(smi_explain(text, 1, &err) < 0 && err.text[0]);
        smi_unknown_option(text);
        if (smi_unknown_column(text, &column))
            require(column.at >= text.at && column.at + column.len <= text.at + text.len);
        smi_read_version(&driver, text);
        break;
    default:
        for (enum cell_kind kind = CELL_PERCENT; kind <= CELL_PCI_ID; kind++) {
            char to[16];
            enum reading_state why;
            cell_read(text, kind);
            cell_text(text, kind, to, sizeof to, &why);
            xml_decode(text, to, sizeof to);
            smi_process_name(text, to, sizeof to);
        }
    }
    cards_are_sound(&r);
    return 0;
}
