/* SPDX-License-Identifier: Apache-2.0
 * Command lines, times and states of macOS. Makes no system calls.
 */
#include "host/macos/facts_macos.h"

#include <string.h>

bool macos_arguments(struct str bytes, struct str *arguments, struct str *environment)
{
    int32_t count;
    if (bytes.len <= sizeof count)
        return false;
    memcpy(&count, bytes.at, sizeof count);
    struct str rest = {bytes.at + sizeof count, bytes.len - sizeof count}, word;
    if (count < 0 || !str_cut(&rest, '\0', &word))
        return false;
    while (rest.len && rest.at[0] == '\0') /* padding to a word boundary */
        rest = (struct str){rest.at + 1, rest.len - 1};
    *arguments = (struct str){rest.at, 0};
    for (int32_t i = 0; i < count; i++)
        if (!str_cut(&rest, '\0', &word))
            return false;
    arguments->len = (size_t)(rest.at - arguments->at);
    *environment = (struct str){rest.at, 0};
    /* An empty string ends them; system strings follow. */
    while (rest.len && rest.at[0] != '\0' && str_cut(&rest, '\0', &word))
        environment->len = (size_t)(rest.at - environment->at);
    return true;
}

int64_t macos_ns(uint64_t time, uint32_t numerator, uint32_t denominator)
{
    if (!denominator)
        return -1;
    uint64_t whole = time / denominator, part = time % denominator;
    return (int64_t)(whole * numerator + part * numerator / denominator);
}

enum calls_wait macos_wait(int state)
{
    enum { RUNNING = 1, STOPPED = 2, HALTED = 5 };
    switch (state) {
    case RUNNING: return CALLS_WAIT_RUNNING;
    case STOPPED:
    case HALTED: return CALLS_WAIT_STOPPED;
    default: return CALLS_WAIT_OTHER;
    }
}

bool macos_is_card(const char *name)
{
    return strncmp(name, "en", 2) == 0 && name[2] >= '0' && name[2] <= '9';
}
