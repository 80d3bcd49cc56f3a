// SPDX-License-Identifier: MIT
// What only norma's own matrix product promises (docs/backends.md): tests of it are skipped with another backend.
#pragma once

#include <norma/kernels/gemm_backend.hpp>

#include <gtest/gtest.h>

/// For the first line of a test whose promise holds with the own product of T alone: a row's bits that depend on no
/// other row, nothing allocated.
#define NORMA_NEEDS_OWN_PRODUCT(T) \
  if (!norma::kernels::kOwnProduct<T>) GTEST_SKIP() << "promised by norma's own matrix product alone"
