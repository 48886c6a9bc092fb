/* SPDX-License-Identifier: Apache-2.0
 * What the log says about sources, sample by sample.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "daemon/part.h"
#include "test.h"

static size_t lines_with(const char *log, const char *words)
{
    size_t count = 0;
    for (const char *at = log; (at = strstr(at, words)); at += strlen(words))
        count++;
    return count;
}

static void a_failure_is_logged_once_and_the_next_one_again(void **state)
{
    (void)state;
    static const struct {
        enum source_state state;
        uint32_t consecutive_errors;
        uint64_t errors_total;
        size_t logged; /* failures so far */
    } samples[] = {
        {SOURCE_OK, 0, 0, 0},      {SOURCE_FAILING, 1, 1, 1}, {SOURCE_FAILING, 1, 1, 1}, /* not asked again meanwhile */
        {SOURCE_FAILING, 2, 2, 1}, {SOURCE_FAILING, 1, 3, 2},                            /* it worked between two samples */
        {SOURCE_FAILING, 1, 3, 2},
    };
    char *text = NULL;
    size_t size;
    FILE *to = open_memstream(&text, &size);
    struct error err = {0};
    void *part = log_changes_ops.open(&(struct part_host){0}, &err);
    assert_true(to && part);
    log_setup(LOG_INFO, LOG_FORMAT_TEXT, to);
    for (size_t i = 0; i < ARRAY_LEN(samples); i++) {
        struct snapshot *s = snapshot_new(1);
        s->source_count = 1;
        s->sources[0] = (struct source_status){.name = "nvml",
                                               .state = samples[i].state,
                                               .consecutive_errors = samples[i].consecutive_errors,
                                               .errors_total = samples[i].errors_total};
        log_changes_ops.sampled(part, s);
        snapshot_unref(s);
        fflush(to);
        assert_int_equal(lines_with(text, "query failed"), samples[i].logged);
    }
    log_setup(LOG_INFO, LOG_FORMAT_TEXT, stderr);
    log_changes_ops.close(part);
    fclose(to);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_failure_is_logged_once_and_the_next_one_again)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
