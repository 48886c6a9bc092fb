/* SPDX-License-Identifier: Apache-2.0
 * The parts that GPUs are drawn with, whether a few with plots or many in rows.
 */
#pragma once

#include "tui/draw.h"

struct gpu_metric {
    const char *label;
    enum tint tint;
};
extern const struct gpu_metric gpu_metrics[TRAIL_COUNT];

/* The value that fills a plot or a bar, in the unit of the trail; 0: not known. */
float gpu_full_scale(const struct gpu *gpu, enum trail_of of);
/* What is reached of it. */
struct reading gpu_share(const struct gpu *gpu, enum trail_of of);

void gpu_fan_text(char text[NUMBER_SIZE], const struct page *page, const struct gpu *gpu);
void gpu_power_text(char text[NUMBER_SIZE], const struct page *page, const struct gpu *gpu, bool limit);
void gpu_value_text(char text[NUMBER_SIZE], const struct page *page, const struct gpu *gpu, enum trail_of of);
/* Why there are no readings; "" when there are. */
void gpu_trouble_text(const struct gpu *gpu, char *text, size_t size, enum tint *tint);
/* What the daemon judges; "" when all is well. */
void gpu_badge_text(const struct top *t, size_t position, char *text, size_t size, enum tint *tint);
/* "leased to alice until 18:00, power limit 330 W"; "" without a lease. */
void gpu_lease_text(const struct top *t, size_t position, char *text, size_t size);
void gpu_process_text(const struct gpu *gpu, char *text, size_t size);

/* What is usual at this power, from the history; false: nothing is known. */
bool gpu_usual_band(const struct top *t, size_t gpu, enum trail_of of, float *low, float *high);
void draw_plot(struct top *t, struct canvas *c, size_t gpu, enum trail_of of, int x, int y, int width, int height);
/* Two readings that belong together, the first upwards and the one behind it in enum trail_of downwards. */
void draw_plot_pair(struct top *t, struct canvas *c, size_t gpu, enum trail_of up, int x, int y, int width, int height);
/* "5m ago ... now", with a sign where something happened. */
void draw_axis(struct top *t, struct canvas *c, int x, int y, int width);

/* Return the lines they took. `panel`: what is drawn below them has the plots. */
int draw_gpu_rows(struct top *t, struct canvas *c, int y, int height, bool panel);
/* One GPU from close by: what it is, and plots of all that it tells. */
int draw_panel(struct top *t, struct canvas *c, size_t position, int y, int height);
int draw_gpu_map(struct top *t, struct canvas *c, int y, int height);
