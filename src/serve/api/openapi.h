/* SPDX-License-Identifier: Apache-2.0
 * The description of the API: openapi.json of this folder, with the metrics filled in from the metric table.
 */
#pragma once

#include "base/buf.h"

void openapi_write(struct buf *out); /* the buffer fails when memory is out */
