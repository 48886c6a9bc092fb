story calm-two-share
title A notebook and a small service share an A6000
gpu 0 NVIDIA RTX A6000 like rtxa6000-train
  utilization_percent 81
  power_watts 231
  temperature_celsius 72
  was 120s..0s every 5s utilization_percent 78~84
  process 401 python3 compute
    user eva
    command jupyter-lab
    started 3h
    memory_mb 18000
    utilization_percent 46
  process 402 python3 compute
    user svc
    command python3 -m whisper_server
    started 90h
    memory_mb 9000
    utilization_percent 35
expect
  calm yes
  first shared_load
