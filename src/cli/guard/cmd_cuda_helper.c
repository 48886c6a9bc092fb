/* SPDX-License-Identifier: Apache-2.0
 * whirr cuda-helper: makes one call into the CUDA driver in a process that can be killed. The guard starts it, not people.
 */
#include "cli/command.h"
#include "guard/cuda.h"

static int guard_cuda_helper_run(struct cli *cli)
{
    char *argv[4] = {(char *)"cuda-helper"};
    for (size_t i = 0; i < 3; i++)
        argv[i + 1] = (char *)cli->options->arguments[i];
    return cuda_helper_main(&cli->env, 4, argv);
}

const struct command command_cuda_helper = {
    .alone = true,
    .name = "cuda-helper",
    .summary = "One call into the CUDA driver, for the guard",
    .arguments = "CALL PID TIMEOUT_MS",
    .arguments_min = 3,
    .arguments_max = 3,
    .hidden = true,
    .run = guard_cuda_helper_run,
};
