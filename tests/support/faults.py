# SPDX-License-Identifier: Apache-2.0
"""The faults that whirr must survive, and the tests of each: FILE::TEST, or unit: PROGRAM::PART. tools/test counts them in its
summary; e2e/test_faults_listed.py checks that they exist."""

FAULTS = {
    "allocations and system calls fail in turn, in commands": ["e2e/test_failing_calls.py::test_a_command_ends_with_a_message_or_goes_on"],
    "allocations and system calls fail in turn, in the daemon": ["e2e/test_failing_calls.py::test_the_daemon_starts_samples_and_ends"],
    "allocations and system calls fail in turn, around the driver": ["e2e/test_failing_calls.py::test_so_does_the_driver"],
    "memory is out for a while": ["e2e/test_failing_calls.py::test_memory_that_is_out_for_a_while_is_said",
                                  "e2e/test_failing_calls.py::test_memory_that_is_out_for_a_while_ends_no_daemon_without_a_word"],
    "a driver call fails": ["unit: nvml_cards::one_failing_call_is_one_failed_reading"],
    "calls of the driver fail in turn": ["unit: nvml_cards::each_call_of_the_driver_fails_in_turn_and_all_is_well_again"],
    "reads of the files of AMD's and Intel's drivers fail in turn": ["unit: failing_files::each_read_of_amdgpu_fails_in_turn_and_all_is_well_again",
                                                                    "unit: failing_files::each_read_of_i915_and_xe_fails_in_turn_and_all_is_well_again",
                                                                    "unit: failing_files::each_read_of_another_driver_fails_in_turn_and_all_is_well_again"],
    "allocations and system calls fail in turn, around AMD's and Intel's drivers": ["e2e/test_failing_calls.py::test_so_do_drivers_that_are_files"],
    "a driver fails in every call": ["unit: roster::a_driver_that_fails_altogether_makes_no_new_card"],
    "a driver hangs": ["contract/test_rest.py::test_a_hanging_driver_does_not_hang_the_api", "contract/test_daemon.py::test_a_driver_that_hangs_does_not_delay_the_stop",
                       "unit: engine::a_hung_source_is_given_up_and_the_others_go_on"],
    "a helper hangs": ["e2e/test_nvidia_smi.py::test_a_program_that_hangs_is_killed_with_its_children", "e2e/test_guard_methods.py::test_a_lock_that_hangs_is_given_up_in_time_and_the_worker_goes_on"],
    "a helper crashes": ["e2e/test_guard.py::test_a_checkpoint_that_fails_is_unlocked", "e2e/test_guard_methods.py::test_a_command_that_fails_is_quoted_and_the_worker_goes_on"],
    "a GPU is lost and comes back": ["contract/test_daemon.py::test_a_lost_gpu_is_told_and_its_return", "unit: nvml_cards::a_lost_card_is_tried_every_five_seconds_and_comes_back"],
    "the driver is unloaded and loaded again": ["contract/test_daemon.py::test_release_and_return", "unit: engine::released_sources_are_closed_and_come_back"],
    "the host is suspended and resumed": ["unit: engine::a_suspend_of_the_host_is_said_once_and_everything_is_read_again"],
    "the clock leaps, also backwards": ["contract/test_clock.py::test_a_clock_that_leaps_and_is_set_right_deletes_and_loses_nothing"],
    "the power fails": ["unit: store_faults::nothing_that_was_written_is_lost_when_the_power_fails"],
    "kill -9 of the daemon": ["contract/test_kills.py::test_kill_9_at_random_moments"],
    "kill -9 of a guard": ["e2e/test_guard.py::test_killed_in_the_middle_the_next_start_brings_the_worker_back"],
    "the disk is full": ["contract/test_faults.py::test_a_disk_that_takes_nothing_is_waited_for", "unit: store_faults::a_full_disk_is_said_once_and_survived", "e2e/test_text.py::test_full_disk_is_a_failure"],
    "the disk is read-only": ["contract/test_faults.py::test_a_disk_that_takes_nothing_is_waited_for"],
    "the database file is gone": ["contract/test_history.py::test_a_file_that_is_removed_is_made_anew_and_said"],
    "the database server is gone": ["contract/test_postgres.py::test_a_server_that_goes_and_comes_back_gets_everything_in_order"],
    "the database server hangs": ["contract/test_postgres.py::test_a_server_that_hangs_loses_nothing"],
    "the database server is full": ["contract/test_postgres.py::test_a_server_whose_disk_is_full_is_waited_for"],
    "files of state are damaged": ["contract/test_alerts.py::test_a_damaged_state_is_moved_away", "contract/test_gpu_health.py::test_a_damaged_memory_is_moved_aside",
                                   "contract/test_notifications.py::test_a_damaged_queue_is_moved_aside"],
    "no descriptors are left": ["contract/test_faults.py::test_without_descriptors_it_goes_on_and_answers_again_later"],
    "a thousand slow clients": ["contract/test_faults.py::test_a_thousand_slow_clients_delay_no_other_client"],
    "clients take all places": ["contract/test_http.py::test_the_owner_gets_in_when_all_places_are_taken", "contract/test_http.py::test_one_address_cannot_take_all_places"],
    "malformed HTTP": ["contract/test_http.py::test_malformed_requests", "contract/test_soundness.py::test_everything_once_and_nothing_left_behind"],
    "malformed WebSocket": ["contract/test_live.py::test_frames_that_end_the_connection"],
    "a storm of reloads": ["contract/test_faults.py::test_a_storm_of_reloads_changes_nothing"],
    "a reload with mistakes": ["contract/test_alerts.py::test_a_reload_takes_new_rules_and_keeps_the_old_ones_where_they_are_wrong"],
    "those who are to be notified are away": ["contract/test_notifications.py::test_a_dead_target_delays_no_other_and_is_notified_later"],
    "a database for metrics is away": ["contract/test_push.py::test_failures_are_retried_in_order"],
}


def is_test(result, test):
    """Whether this line of results belongs to that test, with any parameters: "python: e2e.test_x test_y[z]", "unit: whirr.whirr:unit / program 3 - part"."""
    where, _, name = test.partition("::")
    if where.startswith("unit: "):
        return result.startswith("unit: ") and f"/ {where.removeprefix('unit: ')} " in result and result.endswith(f" - {name}")
    whole = f"{where.removesuffix('.py').replace('/', '.')} {name}"
    return result.startswith("python: ") and (result.endswith(whole) or f"{whole}[" in result)


def tried(outcomes):
    """The kinds with a test that ran, and those with one that failed; `outcomes` maps names to "passed", "failed" or "skipped"."""
    hows = {kind: {how for name, how in outcomes for test in tests if is_test(name, test)} - {"skipped"} for kind, tests in FAULTS.items()}
    return [kind for kind, how in hows.items() if how], [kind for kind, how in hows.items() if "failed" in how]
