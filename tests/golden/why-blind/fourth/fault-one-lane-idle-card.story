story fault-one-lane-idle-card
title A 3090 that does nothing at the moment hangs on one lane of sixteen
gpu 0 NVIDIA GeForce RTX 3090 like rtx3090
  pcie_width 1
  was 120s..0s every 5s power_watts 20
expect
  severity notice or warning
  first pcie_link
