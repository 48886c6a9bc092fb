story fault-hidden-user
title A V100 is all busy, and no process can be seen from here
gpu 0 Tesla V100-SXM2-32GB like v100
  utilization_percent 97
  memory_used_mb 30100
  temperature_celsius 63
  power_watts 281
  clock_graphics_mhz 1530
  throttle_reasons none
  hidden 1
  was 300s..0s every 5s utilization_percent 96~97
expect
  severity notice
  first hidden_load
