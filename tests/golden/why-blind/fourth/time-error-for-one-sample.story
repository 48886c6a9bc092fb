story time-error-for-one-sample
title One query failed a minute ago and all since are fine
gpu 0 NVIDIA GeForce RTX 4080 like rtx4080-busy
  was 300s..66s every 5s power_watts 268
  was 65s..61s every 5s state error
  was 60s..0s every 5s power_watts 266~270
  process 5 blender compute
    started 2h
    memory_mb 8600
    utilization_percent 97
expect
  severity info or notice
  first compute_load or error
