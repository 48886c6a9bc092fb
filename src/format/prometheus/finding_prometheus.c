/* SPDX-License-Identifier: Apache-2.0
 * Findings as series: all above informational, what keeps an idle GPU from idling, and the first one of every GPU, which is whirr's
 * statement about it; and the severity of every GPU.
 */

#include "format/prometheus/prometheus.h"

#include "model/finding.h"
#include "model/severity.h"

static bool is_exported(const struct verdict *v, const struct finding *f)
{
    return f->severity > SEVERITY_INFO || finding_kind(f->code)->area == AREA_IDLE || verdict_first(v, f->gpu_index) == f;
}

/* Present long enough to be worth a message. */
static bool has_held(const struct snapshot *s, const struct finding *f)
{
    return f->tense != TENSE_WAS && f->since.ms && finding_held_ms(f, s->taken_at) >= f->hold_ms;
}

static void finding_series(struct buf *out, const struct snapshot *s, const struct finding *f)
{
    const struct gpu *gpu = snapshot_gpu(s, f->gpu_index);
    const struct process *p = gpu && f->pid ? gpu_find_process(gpu, f->pid) : NULL;
    char words[PROCESS_WORDS];
    buf_text(out, "whirr_finding{");
    if (gpu)
        prometheus_gpu_labels(out, gpu, NULL);
    prometheus_label(out, !gpu, "code", finding_code_name(f->code));
    prometheus_label(out, false, "severity", severity_text(f->severity));
    prometheus_label(out, false, "process", p ? process_words(p, SHORT_NAME, words) : "");
    prometheus_label(out, false, "likelihood", likelihood_words(f->confidence));
    prometheus_label(out, false, "held", has_held(s, f) ? "true" : "false");
    prometheus_label(out, false, "tense", tense_name(f->tense));
    buf_text(out, "} 1\n");
}

void prometheus_findings(struct buf *out, const struct snapshot *s)
{
    const struct verdict *v = s->verdict;
    bool headed = false;
    for (size_t i = 0; v && i < v->count; i++) {
        if (!is_exported(v, &v->findings[i]))
            continue;
        prometheus_head_once(out, &headed, "whirr_finding", "gauge", "1 while whirr finds this: docs/findings.md has the codes");
        finding_series(out, s, &v->findings[i]);
    }
    headed = false;
    for (size_t i = 0; v && i < s->gpu_count; i++) {
        prometheus_head_once(out, &headed, "whirr_severity", "gauge",
                             "Of the worst finding: 0 info, 1 notice, 2 warning, 3 critical");
        buf_text(out, "whirr_severity{");
        prometheus_gpu_labels(out, &s->gpus[i], NULL);
        buf_text(out, "}");
        prometheus_value(out, (double)verdict_severity(v, s->gpus[i].index));
    }
}
