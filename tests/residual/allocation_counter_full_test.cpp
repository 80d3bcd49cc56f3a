// SPDX-License-Identifier: MIT
// The one file of the program of full tests that replaces malloc; allocation_counter_test.cpp is that of the quick
// ones.
#define NORMA_DEFINE_ALLOCATION_COUNTER
#include <norma/testing/allocation_counter.hpp>
