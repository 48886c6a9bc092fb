story limit-stopped
title A program was stopped with Ctrl-Z and holds 18 GiB
gpu 0 NVIDIA GeForce RTX 3090 like rtx3090
  memory_used_mb 18300
  power_watts 24
  was 600s..0s every 10s memory_used_mb 18300
  process 800 python3 compute
    user lena
    command python3 train.py
    started 6h
    memory_mb 18000
    utilization_percent 0
    evidence stopped 1
    evidence main_running_percent 0
    evidence main_cpu_percent 0
    evidence busiest_thread_percent 0
    evidence cpu_percent 0
expect
  severity info or notice
  first vram_held or context_held
  pid 800
  says stopped
