story fault-aer-uncorrected
title Uncorrected PCIe errors of an L4
gpu 0 NVIDIA L4 like l4
  pcie_uncorrected_errors 2
  was 300s..120s every 10s pcie_uncorrected_errors 0
  was 110s..0s every 10s pcie_uncorrected_errors 2
  log 115s nvidia 0000:10:00.0: PCIe Bus Error: severity=Uncorrected (Non-Fatal), type=Transaction Layer, (Requester ID)
expect
  severity warning
  first pcie_errors
