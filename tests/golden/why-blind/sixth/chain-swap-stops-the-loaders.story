story chain-swap-stops-the-loaders
title A workstation swaps, and a 3090 waits for a program whose pages are on the disk
host memory_percent 98
host memory_pressure_percent 64
host swap_total_mb 16384
host swap_used_mb 15200
host swap_in_pages_per_second 9000
host io_pressure_percent 58
gpu 0 NVIDIA GeForce RTX 3090 like rtx3090
  utilization_percent 6
  memory_used_mb 17000
  performance_state 2
  clock_graphics_mhz 1740
  clock_memory_mhz 9501
  power_watts 118
  throttle_reasons none
  pcie_generation 4
  temperature_celsius 44
  was 120s..0s every 5s utilization_percent 4~8 power_watts 118
  process 702 python3 compute
    user kim
    command python3 train.py
    started 2h
    memory_mb 16700
    host_memory_mb 58000
    utilization_percent 6
    evidence main_running_percent 12
    evidence main_cpu_percent 9
    evidence main_disk_percent 85
    evidence busiest_thread_percent 10
    evidence cpu_percent 14
    evidence major_faults_per_second 2100
    evidence swap_bytes 9000000000
    evidence memory_pressure_percent 66
expect
  severity info or notice or warning
  first waits_for_memory
  pid 702
