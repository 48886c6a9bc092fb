/* SPDX-License-Identifier: Apache-2.0
 * The table of tools: queries that exist as commands and paths, with the fields of their answers that an assistant needs.
 */
#include "base/cleanup.h"
#include "format/capacity_forms.h"
#include "format/forecast_forms.h"
#include "format/health_forms.h"
#include "format/json/json.h"
#include "mcp/tool.h"
#include "past/past_json.h"

/* ---- arguments ---- */

#define TIME_WORDS "03:10, -2h, yesterday or 2026-11-14T03:10:00Z"

static const struct mcp_input gpu = {.of = PARAMETER_gpu, .option = "gpu", .number_too = true};
static const struct mcp_input at = {
    .name = "at", .about = "A moment of the past: " TIME_WORDS, .option = "at", .parameter = "at", .alone = true};
static const struct mcp_input since = {
    .name = "since", .about = "Begin of a span: " TIME_WORDS ", or all", .option = "since", .parameter = "since"};
static const struct mcp_input until = {.name = "until", .about = "Its end (default: now)", .option = "until", .parameter = "until"};
static const struct mcp_input span = {
    .name = "since", .about = "Begin of a span of the past: " TIME_WORDS, .option = "since", .parameter = "since", .alone = true};
static const struct mcp_input span_end = {
    .name = "until", .about = "Its end (default: now)", .option = "until", .parameter = "until", .needs = "since"};
static const struct mcp_input process = {.name = "process",
                                         .about = "A PID or a part of a program's name: what limits it",
                                         .option = "",
                                         .parameter = "process",
                                         .alone = true};
static const struct mcp_input job = {.of = PARAMETER_job, .option = "job", .alone = true};

static const struct mcp_input user = {.of = PARAMETER_user, .option = "user"};
static const struct mcp_input name = {.of = PARAMETER_name, .option = "name"};
static const struct mcp_input type = {.of = PARAMETER_process_type, .option = "type"};
static const struct mcp_input sort = {
    .of = PARAMETER_process_order, .about = "The most first", .choices = "gpu, memory, utilization, power", .option = "sort"};

static const struct mcp_input metrics = {.name = "metrics",
                                         .about = "Names with commas, as power_watts or util,vram,power,temp,fan,clock "
                                                  "(default: util,vram,power,temp); of the host: host.cpu_percent",
                                         .option = "",
                                         .parameter = "metric"};
static const struct mcp_input of_process = {
    .name = "process", .about = "Of these processes (name or PID) instead of GPUs", .option = "process", .parameter = "process"};
static const struct mcp_input points = {
    .name = "points", .kind = PARAMETER_WHOLE, .about = "Points of each course (default: as many as fit)", .most = 240};

static const struct mcp_input by = {.name = "by",
                                    .about = "Who or what is added up (default: GPUs)",
                                    .choices = "user, container, pod, job, command, model, limit"};

static const struct mcp_input size = {
    .name = "size", .about = "Memory that is wanted, as 24GiB", .option = "", .parameter = "bytes", .alone = true};
static const struct mcp_input model = {
    .name = "model", .about = "Path of a GGUF or safetensors model on this host, instead of a size", .option = "", .alone = true};
static const struct mcp_input gpus = {.of = PARAMETER_gpus, .option = "gpus"};
static const struct mcp_input copies = {.of = PARAMETER_count, .option = "count"};
static const struct mcp_input code = {.name = "code", .about = "Explain this code, or * for all codes that there are"};

static const struct mcp_input cursor = {.name = "cursor", .about = "The next_cursor of the answer before"};
static const struct mcp_input max_bytes = {.name = "max_bytes",
                                           .kind = PARAMETER_WHOLE,
                                           .about = "Longest answer (default: 4096)",
                                           .least = MCP_ANSWER_LEAST,
                                           .most = MCP_ANSWER_MOST};
static const struct mcp_input detail = {.name = "detail", .kind = PARAMETER_YES, .about = "Every field that is known"};
const struct mcp_input *const mcp_inputs_of_all[] = {&cursor, &max_bytes, &detail, NULL};

#define INPUTS(...)                   \
    (const struct mcp_input *const[]) \
    {                                 \
        __VA_ARGS__, NULL             \
    }
#define SHAPES(...)            \
    (const struct mcp_shape[]) \
    {                          \
        __VA_ARGS__            \
    }

/* ---- answers ---- */

extern const struct answer fleet_status_answer; /* of a layer above */

const struct mcp_tool mcp_tools[] = {
    {"status", "GPUs now", "All GPUs of this host at a glance: load, memory, temperature, power, fan, and what was found unusual.",
     INPUTS(&gpu), SHAPES({.command = "status", .path = "/api/gpu/metrics", .answer = &metrics_answer, .rows = "gpus"})},
    {"why", "Why",
     "Why a GPU is loud, hot, slow, busy or idle, with causes, evidence and advice: now, at a moment (at), over a span (since, "
     "until: what happened, most important first), of one program (process: what limits it) or of a job.",
     INPUTS(&gpu, &at, &span, &span_end, &process, &job),
     SHAPES({.when = "process", .command = "why", .path = "/api/why", .answer = &limits_answer, .rows = "processes"},
            {.when = "since", .command = "why", .path = "/api/why", .answer = &span_answer, .rows = "episodes"},
            {.command = "why", .path = "/api/why", .answer = &why_answer, .also = &moment_answer, .rows = "gpus"})},
    {"ps", "Processes on the GPUs", "Who is on the GPUs: memory, share of the GPU, watts, what each does.",
     INPUTS(&gpu, &user, &name, &type, &sort),
     SHAPES({.command = "ps", .path = "/api/processes", .answer = &processes_answer, .rows = "processes"})},
    {"health", "Health of the GPUs",
     "Whether the GPUs are well: errors of memory, links, driver and heat, the reason and what to do.", INPUTS(&gpu),
     SHAPES({.command = "health", .path = "/api/gpu/health", .answer = &health_answer, .rows = "gpus"})},
    {"history", "Course of metrics",
     "Any metric over any time, summed up: mean, least and most of each GPU, host or process, and points of its course.",
     INPUTS(&metrics, &gpu, &since, &until, &of_process, &points),
     SHAPES({.command = "history --points=240",
             .path = "/api/history?points=240",
             .head = "since:s until:s host:s simulated:x level:s course_since:s course_step_seconds:n",
             .rows = "series",
             .fields = "of:s gpu_index:i process:t metrics:o",
             .sum_up = mcp_sum_up_history,
             .line = mcp_line_of_history})},
    {"report", "Hours, energy and cost",
     "Who used the GPUs, for how long, and what it cost: by GPU, user, container, pod, job, command, model or limit.",
     INPUTS(&since, &until, &by, &gpu),
     SHAPES({.when = "by", .command = "report", .path = "/api/report", .answer = &report_answer, .rows_by = &by, .list = "rows"},
            {.command = "report", .path = "/api/report", .answer = &report_answer, .rows = "gpus", .list = "rows"})},
    {"fit", "Where a model fits",
     "Whether a model or an amount of memory fits, on which GPUs, and what would have to be evicted; without either, what is free.",
     INPUTS(&size, &model, &gpus, &copies, &gpu),
     SHAPES({.when = "size", .command = "fit", .path = "/api/placement", .answer = &placement_answer, .rows = "placements"},
            {.when = "model", .command = "fit", .answer = &placement_answer, .rows = "placements"},
            {.command = "fit", .path = "/api/capacity", .answer = &capacity_answer, .rows = "gpus", .list = "capacity"})},
    {"forecast", "What is to come", "When memory will be full, when a GPU will throttle, when the history database is full.",
     INPUTS(&gpu), SHAPES({.command = "forecast", .path = "/api/forecast", .answer = &forecast_answers, .rows = "gpus"})},
    {"findings", "Findings and their codes",
     "What is unusual right now, as codes that last and can be muted; with `code`, what a code means.", INPUTS(&code, &gpu),
     SHAPES({.when = "code",
             .command = "why --codes",
             .path = "/api/findings",
             .answer = &finding_codes_answer,
             .rows = "codes",
             .only = "code"},
            {.command = "status", .path = "/api/gpu/metrics", .answer = &metrics_answer, .rows = "findings"})},
    {"hosts", "All hosts of the fleet", "All hosts whose metrics the database of `fleet.url` has: which are in trouble, or silent.",
     INPUTS(NULL),
     SHAPES({.command = "status --fleet=fleet.url",
             .path = "/api/fleet",
             .inside = "fleet.status",
             .answer = &fleet_status_answer,
             .rows = "hosts"})},
};
const size_t mcp_tool_count = ARRAY_LEN(mcp_tools);
