/* SPDX-License-Identifier: Apache-2.0
 * `whirr guard status` for people.
 */
#pragma once

#include <jansson.h>

#include "format/table/page.h"

void guard_text(struct buf *out, const struct page *page, const json_t *workers);
