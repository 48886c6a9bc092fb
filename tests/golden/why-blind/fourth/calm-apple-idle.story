story calm-apple-idle
title An Apple GPU at rest
gpu 0 Apple M2 Max like m2max
expect
  calm yes
