story calm-vgpu-guest-renders
title A virtual desktop on a slice of an L40S draws a model
gpu 0 NVIDIA L40S-8Q
  vendor nvidia
  virtualization vgpu
  driver_version 550.127.05
  utilization_percent 71
  memory_utilization_percent 30
  memory_total_mb 8192
  memory_used_mb 4100
  performance_state 0
  clock_graphics_mhz 2520
  clock_memory_mhz 9001
  was 120s..0s every 5s utilization_percent 68~74
  process 40 Xorg graphics
    started 30h
    memory_mb 300
    utilization_percent 4
  process 41 paraview graphics
    started 2h
    memory_mb 3500
    utilization_percent 66
expect
  calm yes
  first graphics_load or shared_load
