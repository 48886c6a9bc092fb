/* SPDX-License-Identifier: Apache-2.0
 * For pages that people already have: a flat JSON for widgets and sensors, a badge, and a tile to embed.
 */
#pragma once

struct exchange;

void get_widget(struct exchange *x);
void get_badge(struct exchange *x);
void get_tile(struct exchange *x);
