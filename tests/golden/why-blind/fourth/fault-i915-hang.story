story fault-i915-hang
title An Arc hung in a browser
gpu 0 Intel Arc A770 like a770
  log 50s i915 0000:10:00.0: [drm] GPU HANG: ecode 12:1:85dffffb, in firefox [4821]
  was 120s..0s every 5s power_watts 41
expect
  severity notice or warning
  first driver_fault
