story fault-fan-left-at-full
title The fan of an idle and cool A6000 was left at 100% by hand
gpu 0 NVIDIA RTX A6000 like rtxa6000
  fan_percent 100
  fan_control manual
  temperature_celsius 27
  was 300s..0s every 5s fan_percent 100
expect
  severity notice or warning
  first fan_setting or loud
