// One LayerNorm per instruction set, behind a C interface: plain pointers and sizes, nothing of norma's.
#pragma once

#include <cstddef>

extern "C" {
/// y = LayerNorm(x). x, y: [rows, width]; gamma, beta: [width].
using LayerNorm = void(const float* x, const float* gamma, const float* beta, float* y, std::ptrdiff_t rows,
                       std::ptrdiff_t width);
LayerNorm layer_norm_lowest;
#if defined(__x86_64__)
LayerNorm layer_norm_avx2, layer_norm_avx512;
#endif
}
