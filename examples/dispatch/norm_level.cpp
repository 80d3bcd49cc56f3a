// Compiled once per instruction set, each time with that one's flags and LAYER_NORM, the name to export.
#include <norma/kernels/norm.hpp>

#include "norm_level.hpp"

extern "C" void LAYER_NORM(const float* x, const float* gamma, const float* beta, float* y, std::ptrdiff_t rows,
                           std::ptrdiff_t width) {
  norma::kernels::norm_forward<norma::kernels::Center::mean, float>({x, rows, width}, gamma, beta, 1e-5,
                                                                    {y, rows, width}, {});
}
