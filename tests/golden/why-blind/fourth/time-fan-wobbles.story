story time-fan-wobbles
title A fan that falters: every few seconds it stands still although 90% are asked for
gpu 0 NVIDIA GeForce RTX 2080 Ti like rtx2080ti
  utilization_percent 98
  memory_used_mb 9000
  temperature_celsius 86
  fan_percent 88
  fan_target_percent 90
  power_watts 228
  performance_state 2
  clock_graphics_mhz 1545
  clock_memory_mhz 6800
  throttle_reasons none
  pcie_generation 3
  was 600s..2s every 2s fan_percent 88~0~0~45 temperature_celsius 86~86~87~87
  process 5 python3 compute
    started 2h
    memory_mb 8600
    utilization_percent 98
expect
  severity warning or critical
  first fan_failing or fan_stopped
