# SPDX-License-Identifier: Apache-2.0
"""How exact results must be: the largest error over the largest magnitude of the result, beyond half a step of types as
coarse as 8 bits. Peers that round between their steps may have more."""
TOLERANCES = {"f16": 1.5e-3, "bf16": 1.2e-2, "f32": 1e-5, "f64": 1e-12, "i64": 0, "bool": 0, "e4m3": 1e-3, "e5m2": 1e-3,
              "i8": 1e-3}
PEER_FACTOR = 4
LEAST = {"f16": 2.0 ** -24}  # results so small are stored in steps of this
