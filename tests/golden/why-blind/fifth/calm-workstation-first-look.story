story calm-workstation-first-look
title The first quick look at a workstation with an A6000 and an Arc, right after boot
quick
gpu 0 NVIDIA RTX A6000 like rtxa6000
gpu 1 Intel Arc A770 like a770
  power_watts -
  utilization_percent -
expect
  calm yes
