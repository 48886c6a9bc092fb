story time-fan-stopped-two-minutes-ago
title Two minutes ago the fan of a 3060 stopped under load; it is 89 degrees hot and does not throttle yet
gpu 0 NVIDIA GeForce RTX 3060 like rtx3060-busy
  temperature_celsius 89
  fan_percent 0
  was 600s..121s every 5s temperature_celsius 67 fan_percent 55
  was 120s..0s every 2s temperature_celsius 67>89 fan_percent 0
  process 6 python3 compute
    started 3h
    memory_mb 9400
    utilization_percent 97
expect
  severity critical
  first fan_stopped
