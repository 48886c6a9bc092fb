story limit-cores-taken-by-others
title A build takes all cores: the training's thread waits for a CPU
host cpu_percent 100
host cpu_count 16
host load_average_1m 49
host cpu_pressure_percent 89
gpu 0 NVIDIA GeForce RTX 4090 like rtx4090
  utilization_percent 35
  memory_used_mb 17000
  performance_state 2
  clock_graphics_mhz 2700
  clock_memory_mhz 10251
  power_watts 155
  throttle_reasons none
  pcie_generation 4
  temperature_celsius 49
  fan_percent 30
  was 60s..0s every 2s utilization_percent 31~39
  process 800 python3 compute
    user lena
    command python3 train.py
    started 3h
    memory_mb 16600
    utilization_percent 35
    evidence main_running_percent 100
    evidence main_cpu_percent 41
    evidence busiest_thread_percent 41
    evidence cpu_percent 44
    evidence waiting_for_cpu_percent 57
    evidence cpu_pressure_percent 88
expect
  severity info or notice
  first waits_for_host
  pid 800
