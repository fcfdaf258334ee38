"""The AVX2 micro-kernel example on Exo 1.0.0: same algorithm and same schedule as tests/examples/avx2_microkernel.exo."""

from __future__ import annotations

from exo import DRAM, proc
from exo.platforms.x86 import AVX2, mm256_broadcast_ss, mm256_fmadd_ps, mm256_loadu_ps, mm256_storeu_ps
from exo.stdlib.scheduling import *


@proc
def rank_k_reduce_6x16(K: size, A: f32[6, K] @ DRAM, B: f32[K, 16] @ DRAM, C: f32[6, 16] @ DRAM):
    for i in seq(0, 6):
        for j in seq(0, 16):
            for k in seq(0, K):
                C[i, j] += A[i, k] * B[k, j]


avx = rename(rank_k_reduce_6x16, "rank_k_reduce_6x16_scheduled")
avx = reorder_loops(avx, "j k")
avx = reorder_loops(avx, "i k")
avx = divide_loop(avx, "for j in _: _", 8, ["jo", "ji"], perfect=True)
avx = stage_mem(avx, "for k in _: _", "C[0:6, 0:16]", "C_reg")
avx = simplify(avx)
avx = divide_dim(avx, "C_reg", 1, 8)
avx = simplify(avx)
avx = divide_loop(avx, "for i1 in _: _ #0", 8, ["i1o", "i1i"], perfect=True)
avx = divide_loop(avx, "for i1 in _: _ #0", 8, ["i1o", "i1i"], perfect=True)
avx = simplify(avx)
avx = set_memory(avx, "C_reg", AVX2)
avx = bind_expr(avx, avx.find("A[_]", many=True), "a_vec")
avx = expand_dim(avx, "a_vec", 8, "ji")
avx = lift_alloc(avx, "a_vec", n_lifts=2)
avx = set_memory(avx, "a_vec", AVX2)
avx = set_precision(avx, "a_vec", "f32")
avx = fission(avx, avx.find("a_vec[_] = _").after())
avx = bind_expr(avx, avx.find("B[_]", many=True), "b_vec")
avx = expand_dim(avx, "b_vec", 8, "ji")
avx = lift_alloc(avx, "b_vec", n_lifts=1)
avx = set_memory(avx, "b_vec", AVX2)
avx = set_precision(avx, "b_vec", "f32")
avx = fission(avx, avx.find("b_vec[_] = _").after())
avx = simplify(avx)
avx = replace_all(avx, [mm256_loadu_ps, mm256_storeu_ps, mm256_broadcast_ss, mm256_fmadd_ps])
rank_k_reduce_6x16_scheduled = simplify(avx)
print(rank_k_reduce_6x16_scheduled)
