/* SPDX-License-Identifier: Apache-2.0
 * For people's own pages: flat JSON for widgets and sensors, a badge, and a tile to embed.
 */
#pragma once

struct exchange;

void get_widget(struct exchange *x);
void get_badge(struct exchange *x);
void get_tile(struct exchange *x);
