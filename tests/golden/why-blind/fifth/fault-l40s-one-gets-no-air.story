story fault-l40s-one-gets-no-air
title Four L40S render the same scene; the third gets no air: 23 degrees more at the same power
gpu 0 NVIDIA L40S like l40s-render
  was 900s..0s every 5s temperature_celsius 60
  process 400 blender compute
    user art
    started 3h
    memory_mb 20000
    utilization_percent 97
gpu 1 NVIDIA L40S like l40s-render
  was 900s..0s every 5s temperature_celsius 61
  process 401 blender compute
    user art
    started 3h
    memory_mb 20000
    utilization_percent 97
gpu 2 NVIDIA L40S like l40s-render
  temperature_celsius 84
  was 900s..0s every 5s temperature_celsius 84~83
  process 402 blender compute
    user art
    started 3h
    memory_mb 20000
    utilization_percent 97
gpu 3 NVIDIA L40S like l40s-render
  was 900s..0s every 5s temperature_celsius 61
  process 403 blender compute
    user art
    started 3h
    memory_mb 20000
    utilization_percent 97
expect
  severity notice or warning
  first airflow or hot or cooling or heat_limit
  leads 2
