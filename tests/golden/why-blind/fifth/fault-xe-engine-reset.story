story fault-xe-engine-reset
title The xe driver reset an engine of a B580 while it computed
gpu 0 Intel Arc B580 like b580
  utilization_percent 92
  memory_used_mb 9100
  temperature_celsius 66
  fan_rpm 1400
  power_watts 168
  clock_graphics_mhz 2740
  log 70s xe 0000:10:00.0: [drm] GT0: Engine reset: engine_class=ccs, logical_mask: 0x1, guc_id=4
  was 180s..0s every 5s power_watts 168~165
  process 66 python3 compute
    user kim
    command python3 train_xpu.py
    started 25min
    memory_mb 8700
    utilization_percent 92
expect
  severity notice or warning
  first driver_fault
