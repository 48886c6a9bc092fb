story chain-fan-worn-out
title The bearing of a 2080 Ti is worn out: it asks for 100%, the fan makes 35%, and it is at its limit
gpu 0 NVIDIA GeForce RTX 2080 Ti like rtx2080ti
  utilization_percent 97
  memory_used_mb 8800
  temperature_celsius 88
  fan_percent 35
  fan_target_percent 100
  power_watts 196
  performance_state 2
  clock_graphics_mhz 1290
  clock_memory_mhz 6800
  throttle_reasons software thermal slowdown
  pcie_generation 3
  was 300s..0s every 5s temperature_celsius 88 fan_percent 35
  process 33 python3 compute
    started 2h
    memory_mb 8400
    utilization_percent 97
expect
  severity warning or critical
  first fan_failing
  gpu 0
  has heat_limit
