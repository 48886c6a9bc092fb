story time-power-brake-one-of-three
title A power brake for one second of every three, now in a good second
gpu 0 NVIDIA A100-SXM4-80GB like a100-train
  was 600s..1s every 1s throttle_reasons hardware_slowdown,power_brake~none~none clock_graphics_mhz 495~1410~1410 power_watts 180~362~362
  process 5 python3 compute
    started 5h
    memory_mb 65000
    utilization_percent 98
expect
  severity notice or warning or critical
  first slowdown
