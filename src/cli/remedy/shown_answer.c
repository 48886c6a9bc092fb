/* SPDX-License-Identifier: Apache-2.0
 * The newest answer that this user was shown: `whirr do 1` means its first remedy, on its GPU and its source.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/remedy/remedy_cli.h"
#include "config/places.h"

static bool answer_file(char path[PLACE_SIZE + 16])
{
    char folder[PLACE_SIZE];
    if (place_runtime(folder, NULL) < 0)
        return false;
    snprintf(path, PLACE_SIZE + 16, "%s/shown-answer", folder);
    return true;
}

void shown_answer_keep(const struct cli *cli, const struct why *why, int only)
{
    char path[PLACE_SIZE + 16];
    const struct why_part *part = why->gpu_count ? &why->gpus[only >= 0 ? (size_t)only : why->main] : NULL;
    if (!part || !part->suggestion_count || cli->host || cli->ask.source_count > 1 || !answer_file(path))
        return;
    FILE *f = fopen(path, "we");
    if (!f)
        return;
    fprintf(f, "source %s\ngpu %d\n", cli->ask.source_count ? cli->ask.sources[0] : "", part->gpu_index);
    for (size_t i = 0; i < part->suggestion_count; i++)
        fprintf(f, "%s\n", remedy_row(part->remedies[i].code)->code);
    fclose(f);
}

bool shown_answer_find(struct shown_answer *ret)
{
    char path[PLACE_SIZE + 16], line[300];
    FILE *f = answer_file(path) ? fopen(path, "re") : NULL;
    *ret = (struct shown_answer){.gpu_index = -1};
    if (!f)
        return false;
    while (fgets(line, sizeof line, f)) {
        line[strcspn(line, "\n")] = '\0';
        if (strncmp(line, "source ", 7) == 0)
            str_copy(ret->source, sizeof ret->source, str_from(line + 7));
        else if (strncmp(line, "gpu ", 4) == 0)
            ret->gpu_index = (int)strtol(line + 4, NULL, 10);
        else if (ret->count < ANSWER_REMEDIES_MAX && remedy_from_name(line, &ret->codes[ret->count]))
            ret->count++;
    }
    fclose(f);
    return ret->count > 0 && ret->gpu_index >= 0;
}

void expect_remedies(const struct snapshot *now, struct why *why)
{
    AUTO_EFFECTS struct effects all = {0};
    bool any = false;
    for (size_t g = 0; g < why->gpu_count; g++)
        any |= why->gpus[g].suggestion_count > 0;
    if (!any)
        return;
    effects_read(&all);
    effects_expect_all(&all, now, why);
}
