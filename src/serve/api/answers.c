/* SPDX-License-Identifier: Apache-2.0
 * All answers that have a table; parts of them with a name of their own are found in these.
 */
#include "base/cleanup.h"
#include "format/alert.h"
#include "format/capacity.h"
#include "format/forecast.h"
#include "format/health.h"
#include "format/json/json.h"
#include "format/json/told.h"
#include "format/lease.h"
#include "format/notifiers.h"
#include "net/http_message.h"
#include "past/history_answer.h"
#include "past/past_json.h"
#include "remedy/measure.h"
#include "remedy/undo.h"
#include "serve/api/assets.h"

/* Of parts, which are layers above. */
extern const struct answer fleet_answer_form, remedies_answer;
/* Of files beside this one. */
extern const struct answer settings_answer, widget_answer, session_answer, released_answer, service_answer, usage_answer,
    live_status_answer, target_answer, setting_answer;

const struct answer *const all_answers[] = {
    &alert_rules_answer,   &alerts_answer,          &capacity_answer,      &cpu_samples_answer, &devices_answer,
    &doing_answer,         &driver_answer,          &effect_answer,        &effect_hits_answer, &finding_codes_answer,
    &fleet_answer_form,    &forecast_answers,       &guard_answer,         &guard_event_answer, &history_answer_form,
    &guard_health_answer,  &health_answer,          &health_change_answer, &inventory_answer,   &leases_answer,
    &limits_answer,        &live_stats_answer,      &metrics_answer,       &notifiers_answer,   &past_events_answer,
    &past_limits_answer,   &process_history_answer, &placement_answer,     &processes_answer,   &moment_answer,
    &remedy_answer,        &report_answer,          &resources_answer,     &span_answer,        &stats_answer,
    &stats_history_answer, &summary_answer,         &widget_answer,        &error_answer,       &usage_answer,
    &live_status_answer,   &target_answer,          &remedies_answer,      &session_answer,     &released_answer,
    &silenced_answer,      &unsilenced_answer,      &forgotten_one_answer, &setting_answer,     &service_answer,
    &settings_answer,      &undo_list_answer,       &usual_answer,         &why_answer,
};
const size_t all_answer_count = ARRAY_LEN(all_answers);
