story limit-waits-for-another-host
title A reinforcement learner waits for answers of another host
gpu 0 NVIDIA A100-SXM4-80GB like a100
  utilization_percent 11
  memory_used_mb 41000
  power_watts 96
  clock_graphics_mhz 1410
  throttle_reasons none
  was 60s..0s every 2s utilization_percent 9~13
  process 800 python3 compute
    user lena
    command python3 rollout_learner.py
    started 2h
    memory_mb 40500
    utilization_percent 11
    evidence main_running_percent 9
    evidence main_poll_percent 89
    evidence main_cpu_percent 11
    evidence busiest_thread_percent 12
    evidence cpu_percent 16
    evidence peer 10.0.0.7:8443
expect
  severity info or notice
  first waits_for_peer
  pid 800
