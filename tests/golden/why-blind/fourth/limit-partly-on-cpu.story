story limit-partly-on-cpu
title A third of a model lies in host memory: all cores work, the GPU waits
host cpu_percent 97
host cpu_count 8
gpu 0 NVIDIA GeForce RTX 3060 like rtx3060
  utilization_percent 18
  memory_used_mb 11700
  performance_state 2
  clock_graphics_mhz 1860
  clock_memory_mhz 7301
  power_watts 61
  throttle_reasons none
  pcie_generation 4
  temperature_celsius 47
  was 60s..0s every 2s utilization_percent 15~21
  process 800 python3 compute
    user lena
    command ollama runner --model sha256-9f
    model llama3.3:70b
    started 10min
    memory_mb 11400
    host_memory_mb 31000
    cpu_percent 780
    utilization_percent 18
    evidence main_running_percent 100
    evidence main_cpu_percent 98
    evidence busiest_thread_percent 99
    evidence cpu_percent 780
    evidence listens 1
expect
  severity info or notice
  first waits_for_host
  pid 800
