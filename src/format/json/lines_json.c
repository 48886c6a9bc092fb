/* SPDX-License-Identifier: Apache-2.0
 * The lines on which a program spends its time, as JSON.
 */
#include <math.h>

#include "format/json/json.h"

static void json_number_or_null(struct json_writer *j, const char *key, double value, bool known)
{
    jw_key(j, key);
    if (known)
        jw_number(j, value);
    else
        jw_null(j);
}

static void json_place(struct json_writer *j, const struct place *p)
{
    char words[PLACE_WORDS];
    jw_object(j);
    jw_key_text(j, "file", p->file);
    json_number_or_null(j, "line", p->line, p->line > 0);
    json_number_or_null(j, "first_line", p->first, p->first > 0);
    json_number_or_null(j, "last_line", p->last, p->last > 0);
    jw_key_text(j, "function", p->function);
    jw_key_number(j, "share_percent", round((double)p->permille / 10));
    jw_key_text(j, "thread", p->thread);
    jw_key_text(j, "state", doing_name(p->doing));
    jw_key_text(j, "mostly_in", p->leaf);
    jw_key_text(j, "called_from_file", p->caller_file);
    json_number_or_null(j, "called_from_line", p->caller_line, p->caller_file != NULL);
    json_number_or_null(j, "processes", (double)p->processes, p->of_processes > 0);
    json_number_or_null(j, "of_processes", (double)p->of_processes, p->of_processes > 0);
    jw_key_text(j, "text", place_words(p, true, words));
    jw_end(j);
}

void json_lines(struct json_writer *j, const struct program_lines *l, const char *missing)
{
    jw_key_array(j, "lines");
    for (size_t i = 0; l && i < l->count; i++)
        json_place(j, &l->places[i]);
    jw_end(j);
    jw_key_text(j, "lines_of", l ? blame_name(l->blame) : NULL);
    jw_key_bool(j, "too_few_cores", l && l->few_cores);
    json_number_or_null(j, "looks", l ? (double)l->looks : 0, l != NULL);
    json_words(j, "lines_missing", missing);
}
