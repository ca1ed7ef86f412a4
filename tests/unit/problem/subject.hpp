// SPDX-License-Identifier: MIT
// A small attention kernel to be judged in tests: honest in several ways (block sizes and orders,
// lazy rescaling, two passes), or wrong in the ways that a verdict must catch.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "problem/inputs.hpp"

namespace wb::testing {

struct SubjectOptions {
  std::int64_t key_block = 64;
  bool reverse_blocks = false;
  double rescale_log2 = 0;     ///< rescale only when the maximum grew by more than this (log2)
  bool two_passes = false;     ///< exact maximum first, P normalized before it is rounded
  bool exp2 = false;           ///< scores in units of log2, as most GPU kernels do
  Dtype p_dtype = Dtype::f32;  ///< P is rounded to this; set by subject_for to the problem's
  double scale_factor = 1.0;   ///< 1.01: the scale is off by 1 %
  /// True where the kernel wrongly leaves a key out.
  std::function<bool(std::int64_t row, std::int64_t key)> drops;
  bool swap_heads = false;  ///< query head 0 and 1 read each other's q
};

struct SubjectOutput {
  problem::Bytes out;
  std::vector<float> lse;
};

/// Honest options for a problem: P in the problem's dtype.
SubjectOptions subject_for(const problem::Problem& problem);

SubjectOutput run_subject(const problem::Problem& problem, const problem::Inputs& inputs,
                          const SubjectOptions& options);

/// One element of a stored output, read and written as a number.
float read_element(const problem::Problem& problem, const problem::Bytes& bytes,
                   std::int64_t index);
void write_element(const problem::Problem& problem, problem::Bytes& bytes, std::int64_t index,
                   float value);

}  // namespace wb::testing
