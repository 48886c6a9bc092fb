story calm-sibling-a-little-warmer
title Four L40S render; the upper one is 4 degrees warmer, as always
gpu 0 NVIDIA L40S like l40s-render
  was 300s..0s every 10s power_watts 301~298
  process 71 blender compute
    user svc
    command blender -b a.blend -f 1
    started 2h
    memory_mb 20000
    utilization_percent 97
gpu 1 NVIDIA L40S like l40s-render
  temperature_celsius 65
  was 300s..0s every 10s power_watts 303~299 temperature_celsius 65
  process 72 blender compute
    user svc
    command blender -b b.blend -f 1
    started 2h
    memory_mb 20000
    utilization_percent 97
gpu 2 NVIDIA L40S like l40s-render
  temperature_celsius 60
  was 300s..0s every 10s power_watts 300 temperature_celsius 60
  process 73 blender compute
    user svc
    command blender -b c.blend -f 1
    started 2h
    memory_mb 20000
    utilization_percent 97
gpu 3 NVIDIA L40S like l40s-render
  was 300s..0s every 10s power_watts 302~297
  process 74 blender compute
    user svc
    command blender -b d.blend -f 1
    started 2h
    memory_mb 20000
    utilization_percent 97
expect
  calm yes
