story fault-gh200-memory-hot
title The memory of an H100 is at its limit while the chip is cool
gpu 0 NVIDIA H100 80GB HBM3 like h100-train
  temperature_celsius 68
  temperature_memory_celsius 96
  dram_active_percent 88
  clock_graphics_mhz 1200
  power_watts 468
  throttle_reasons hardware thermal slowdown
  was 180s..0s every 5s temperature_memory_celsius 95~96 power_watts 468~460 clock_graphics_mhz 1200~1230
  process 33 python3 compute
    user a
    command python3 gather.py
    started 3h
    memory_mb 70000
    utilization_percent 99
expect
  severity warning or critical
  first memory_hot or heat_limit
  leads 0
