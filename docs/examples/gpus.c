/* SPDX-License-Identifier: Apache-2.0
 * Every GPU with its load, memory and processes; then why; then, in a loop of our own, three more samples.
 *
 *   cc gpus.c $(pkg-config --cflags --libs whirr) -o gpus && ./gpus
 */
#include <poll.h>
#include <stdio.h>
#include <whirr.h>

static void print_value(const struct whirr_sample *s, size_t gpu, const char *name, const char *unit)
{
    double value;
    if (whirr_gpu_value(s, gpu, name, &value) == 0)
        printf("  %.0f %s", value, unit);
    else
        printf("  - (%s)", whirr_gpu_absent(s, gpu, name));
}

static int print_gpus(void *user, const struct whirr_sample *s)
{
    int *left = user;
    for (size_t gpu = 0; gpu < whirr_gpu_count(s); gpu++) {
        printf("GPU %zu %s:", gpu, whirr_gpu_text(s, gpu, "name"));
        print_value(s, gpu, "utilization_percent", "%");
        print_value(s, gpu, "memory_used_mb", "MiB");
        print_value(s, gpu, "power_watts", "W");
        printf("\n");
        for (size_t i = 0; i < whirr_process_count(s, gpu); i++) {
            const char *name = whirr_process_text(s, gpu, i, "display_name");
            printf("  pid %d %s\n", (int)whirr_process_pid(s, gpu, i), name ? name : "?");
        }
    }
    return --*left == 0;
}

int main(int argc, char **argv)
{
    struct whirr_options options = {.size = sizeof options, .source = argc > 1 ? argv[1] : NULL};
    struct whirr *whirr;
    char *why;
    int left = 3;
    if (whirr_open(&options, &whirr) < 0) {
        fprintf(stderr, "%s\n", whirr_error(NULL));
        return 1;
    }
    if (whirr_why(whirr, &why) == 0) {
        printf("%s\n", why);
        whirr_free(why);
    }
    struct pollfd due = {.fd = whirr_watch_fd(whirr, 100), .events = POLLIN};
    int rc = due.fd < 0 ? due.fd : 0;
    while (rc == 0 && poll(&due, 1, -1) > 0)
        rc = whirr_watch_dispatch(whirr, print_gpus, &left);
    if (rc < 0)
        fprintf(stderr, "%s\n", whirr_error(whirr));
    whirr_close(whirr);
    return rc < 0;
}
