// SPDX-License-Identifier: MIT
// The standard headers that norma uses and that others' macros min and max would break, read without those macros.
// Every header of norma includes another one before it includes any of the standard library's, and so comes here first
// (config.hpp).
#pragma once

#pragma push_macro("min")
#pragma push_macro("max")
#undef min
#undef max

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#pragma pop_macro("max")
#pragma pop_macro("min")
