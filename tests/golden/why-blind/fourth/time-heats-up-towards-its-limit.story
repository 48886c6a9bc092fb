story time-heats-up-towards-its-limit
title A 4080 whose case fans failed climbs two degrees a minute and will be at its limit soon
gpu 0 NVIDIA GeForce RTX 4080 like rtx4080-busy
  temperature_celsius 85
  fan_percent 90
  was 600s..0s every 5s temperature_celsius 64>85 fan_percent 45>90
  process 5 blender compute
    started 2h
    memory_mb 8600
    utilization_percent 97
expect
  severity notice or warning
  first throttle_soon or airflow or hot or loud
