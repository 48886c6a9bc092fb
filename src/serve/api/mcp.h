/* SPDX-License-Identifier: Apache-2.0
 * What assistants ask: POST /mcp.
 */
#pragma once

struct exchange;

void post_mcp(struct exchange *x);
