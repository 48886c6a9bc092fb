story fault-riser-corrects-errors
title A cheap riser: thousands of corrected PCIe errors a minute and replays, at full width
gpu 0 NVIDIA GeForce RTX 4090 like rtx4090-train
  pcie_replays 91000
  pcie_corrected_errors 90500
  was 600s..0s every 5s pcie_replays 1000>91000 pcie_corrected_errors 900>90500
  process 8 python3 compute
    started 2h
    memory_mb 20000
    utilization_percent 98
expect
  severity notice or warning
  first pcie_replays or pcie_errors
