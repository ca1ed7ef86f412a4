// SPDX-License-Identifier: MIT
// The inner loops of oracle and std: C += A B on small row-major panels, and conversion of stored
// elements to double or float. Every element of C adds its products in order without fused
// multiply-add, so that results do not depend on the host's vector width.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/dtype.hpp"
#include "problem/isa.hpp"

namespace wb::problem {

/// A row-major matrix in memory: element (i, j) is data[i * stride + j].
template <typename T>
struct Panel {
  T* data;
  std::int64_t stride;
};

/// C[rows x columns] += A[rows x depth] B[depth x columns]. `isa` must be one that this host
/// supports.
void gemm_add(Panel<double> c, Panel<const double> a, Panel<const double> b, std::int64_t rows,
              std::int64_t columns, std::int64_t depth, Isa isa = widest_isa());
void gemm_add(Panel<float> c, Panel<const float> a, Panel<const float> b, std::int64_t rows,
              std::int64_t columns, std::int64_t depth, Isa isa = widest_isa());

/// Converts `count` stored elements exactly.
void load_elements(Dtype dtype, const std::byte* from, std::int64_t count, double* to);
void load_elements(Dtype dtype, const std::byte* from, std::int64_t count, float* to);

}  // namespace wb::problem
