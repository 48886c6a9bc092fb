/* SPDX-License-Identifier: Apache-2.0
 * What leak_check.py runs: leaves memory to the C library, and with an argument loses one byte.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static void *lose(void *count)
{
    if (*(int *)count > 1) {
        char *volatile lost = malloc(1);
        lost = NULL;
        (void)lost;
    }
    return NULL;
}

int main(int argc, char **argv)
{
    (void)argv;
    pthread_t thread;
    setenv("TZ", "Europe/Berlin", 1);
    tzset();
    printf("the buffer of stdout is the library's\n");
    if (pthread_create(&thread, NULL, lose, &argc) != 0)
        return 2;
    pthread_join(thread, NULL);
    return 0;
}
