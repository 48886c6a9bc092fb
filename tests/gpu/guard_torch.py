# SPDX-License-Identifier: Apache-2.0
"""A PyTorch worker for the guard's tests: the same input through the same model again and again; every output must have the same
bytes. guard_torch.py MIB LOG"""
import hashlib
import os
import signal
import sys
import time

os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
import torch  # noqa: E402


def main():
    mib, log = int(sys.argv[1]), open(sys.argv[2], "w", buffering=1)
    ending = []
    torch.manual_seed(7)
    torch.use_deterministic_algorithms(True)
    width = 4096
    layers = max(1, mib * 1024 * 1024 // (width * width * 4))
    model = torch.nn.Sequential(*[m for _ in range(layers) for m in (torch.nn.Linear(width, width, bias=False), torch.nn.Tanh())]).cuda().eval()
    given = torch.randn(64, width).cuda()
    first = None
    signal.signal(signal.SIGTERM, lambda *_: ending.append(1))
    step = 0
    while not ending:
        with torch.no_grad():
            digest = hashlib.sha256(model(given).cpu().numpy().tobytes()).hexdigest()
        if first is None:
            first = digest
            log.write(f"ready {digest}\n")
        if digest != first:
            log.write(f"bad output at step {step}: {digest}\n")
            sys.exit(1)
        step += 1
        log.write(f"step {step}\n")
        time.sleep(0.05)
    log.write(f"verified {step}\n")


main()
