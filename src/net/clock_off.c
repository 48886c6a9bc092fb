/* SPDX-License-Identifier: Apache-2.0 */
#include "net/clock_off.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/words.h"

bool clock_is_off(int64_t ahead_ms)
{
    return llabs(ahead_ms) >= CLOCK_OFF_MS;
}

const char *clock_off_words(int64_t ahead_ms, const char *whose, char *text, size_t size)
{
    char span[WORDS_SIZE];
    snprintf(text, size, "clock is %s %s %s", words_duration(llabs(ahead_ms), span), ahead_ms > 0 ? "ahead of" : "behind", whose);
    return text;
}
