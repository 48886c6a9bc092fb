/* SPDX-License-Identifier: Apache-2.0
 * Names in nvidia-smi's output: columns of --query-gpu, and elements of -q -x below <gpu>.
 */
#pragma once

#include <stddef.h>

#include "model/metric.h"
#include "source/nvidia_smi/cell.h"

enum field_target {
    FIELD_METRIC,
    FIELD_PROPERTY,
    FIELD_INDEX,
    FIELD_NAME,
    FIELD_UUID,
    FIELD_PCI,
    FIELD_MARGIN, /* a temperature, given as the margin at which it is reached: newer cards */
};

struct smi_field {
    const char *name, *old_name; /* column, or path below <gpu>; the name in older drivers */
    enum field_target target;
    int id; /* enum metric or enum property */
    enum cell_kind kind;
    bool adds;   /* several fields sum up to the value */
    int64_t bit; /* in throttle_bits, for an element that is Active or not; 0 otherwise */
};

enum { COLUMN_COUNT_MAX = 80, COLUMNS_ALWAYS = 8 };

extern const struct smi_field smi_columns[]; /* first, the columns always queried */
extern const size_t smi_column_count;
extern const struct smi_field smi_elements[];
extern const size_t smi_element_count;

/* The groups that require a column. Identifying columns are always queried. */
unsigned smi_field_groups(const struct smi_field *field);

const struct smi_field *smi_column_find(struct str name); /* NULL: unknown. Also finds "memory.used [MiB]" */
/* An element may yield several metrics: the first (after: NULL) or the next. */
const struct smi_field *smi_element_find(struct str path, const struct smi_field *after);
