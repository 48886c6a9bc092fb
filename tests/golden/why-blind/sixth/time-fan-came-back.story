story time-fan-came-back
title The fan of a 4080 stood still for half a minute at 80 degrees and turns again since five minutes
gpu 0 NVIDIA GeForce RTX 4080 like rtx4080-busy
  was 600s..341s every 5s temperature_celsius 62 fan_percent 42 power_watts 268
  was 340s..305s every 5s temperature_celsius 64>81 fan_percent 0 power_watts 268
  was 304s..0s every 5s temperature_celsius 70~62 fan_percent 45~42 power_watts 268
  process 17 python3 compute
    user mia
    command python3 train.py
    started 3h
    memory_mb 11200
    utilization_percent 97
expect
  severity info or notice
  never lost
