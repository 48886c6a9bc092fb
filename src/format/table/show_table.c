/* SPDX-License-Identifier: Apache-2.0
 * Readings for people: the words of base/words.h, and a dash for unknown values.
 */
#include <stdio.h>
#include <string.h>

#include "base/words.h"
#include "format/table/page_table.h"

typedef const char *words(int64_t value, char out[WORDS_SIZE]);

static void show(char text[NUMBER_SIZE], const struct page *page, struct reading reading, words *in_words)
{
    int64_t value;
    if (reading_get(reading, &value))
        in_words(value, text);
    else
        snprintf(text, NUMBER_SIZE, "%s", page_dash(page));
}

void show_bytes(char text[NUMBER_SIZE], const struct page *page, struct reading bytes)
{
    show(text, page, bytes, words_bytes);
}

void show_rate(char text[NUMBER_SIZE], const struct page *page, struct reading bytes_per_s)
{
    show(text, page, bytes_per_s, words_rate);
}

/* Both in the unit of the total. */
void show_bytes_of(char text[NUMBER_SIZE], const struct page *page, struct reading used, struct reading total)
{
    char whole_text[WORDS_SIZE];
    int64_t part, whole;
    if (!reading_get(total, &whole)) {
        show_bytes(text, page, used);
        return;
    }
    char unit = words_bytes(whole, whole_text)[strcspn(whole_text, "KMGT")];
    int power = unit == 'K' ? 1 : unit == 'M' ? 2 : unit == 'G' ? 3 : 4;
    if (reading_get(used, &part))
        snprintf(text, NUMBER_SIZE, "%.*f/%s", power > 2 ? 1 : 0, (double)part / (double)(1LL << 10 * power), whole_text);
    else
        snprintf(text, NUMBER_SIZE, "%s/%s", page_dash(page), whole_text);
}

void show_percent(char text[NUMBER_SIZE], const struct page *page, struct reading permille)
{
    show(text, page, permille, words_percent);
}

void show_temperature(char text[NUMBER_SIZE], const struct page *page, struct reading mdegc)
{
    if (mdegc.state == READING_OK && !page->utf8)
        snprintf(text, NUMBER_SIZE, "%lld C", words_whole(mdegc.value, 1000));
    else
        show(text, page, mdegc, words_temperature);
}

void show_watts(char text[NUMBER_SIZE], const struct page *page, struct reading mw)
{
    show(text, page, mw, words_power);
}

void show_energy(char text[NUMBER_SIZE], const struct page *page, struct reading mj)
{
    show(text, page, mj, words_energy);
}

void show_age(char text[NUMBER_SIZE], const struct page *page, int64_t ms)
{
    show(text, page, ms < 0 ? reading_absent(READING_UNREAD) : reading_ok(ms / MS_PER_S * MS_PER_S), words_duration);
}
