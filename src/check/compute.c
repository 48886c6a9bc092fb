/* SPDX-License-Identifier: Apache-2.0
 * The compute APIs in the order in which a GPU is looked for, and the names of the kernels.
 */
#include "check/compute.h"

const char *const compute_kernel_names[KERNEL_COUNT] = {
    [KERNEL_MEMORY_WRITE] = "memory_write",   [KERNEL_MEMORY_VERIFY] = "memory_verify", [KERNEL_STREAM_READ] = "stream_read",
    [KERNEL_STREAM_WRITE] = "stream_write",   [KERNEL_STREAM_COPY] = "stream_copy",     [KERNEL_CHAIN_WRITE] = "chain_write",
    [KERNEL_CHAIN_FOLLOW] = "chain_follow",   [KERNEL_ANSWER_FLOATS] = "answer_floats", [KERNEL_ANSWER_WHOLE] = "answer_whole",
    [KERNEL_ANSWER_TENSOR] = "answer_tensor",
};

const struct compute_ops *const compute_apis[] = {&compute_cuda, &compute_opencl, NULL};
