// SPDX-License-Identifier: MIT
// CallForm: what a caller may do with a variant that no problem says: tensors that are views into
// larger ones, pointers with the alignment of an element, few threads, a late call of a plan,
// another plan beside it. A verdict draws it (docs/contracts/measurement.md, "Drawn runs"); by
// default it is what a timed turn does: packed tensors, all threads, first call of the only plan.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/error.hpp"
#include "core/json_fwd.hpp"
#include "problem/inputs.hpp"

namespace wb::problem {

/// How a tensor lies in a larger one, in elements: unused ones behind each step of its inner,
/// middle and outer dimension in memory (rows, heads and batches of a BHSD tensor; heads, rows and
/// batches of a BSHD one), and before its first element, counted from an aligned address.
struct View {
  std::int64_t inner = 0, middle = 0, outer = 0, shift = 0;
  friend bool operator==(const View&, const View&) = default;
};

struct CallForm {
  View q, k, v, mask, out;  ///< of a mask the middle dimension is a row, the inner one no dimension
  std::int64_t lse_shift = 0;
  std::int64_t threads = 0;  ///< at most these; 0: all that the session has
  std::int64_t call = 1;     ///< which call of its plan is judged; earlier ones have other inputs
  /// Another plan of the process that is made, and called once, between the making of the judged
  /// plan and its call. Of another problem, which the variant takes too.
  std::optional<Problem> beside;
  bool beside_is_gone = false;  ///< it is destroyed before the judged call

  friend bool operator==(const CallForm&, const CallForm&) = default;
};

inline constexpr std::int64_t k_most_gap = 4'096;     ///< of a View, in elements
inline constexpr std::int64_t k_latest_call = 4'000;  ///< CallForm::call at most
/// The calls before the judged one end after so long, whatever was asked for.
inline constexpr std::int64_t k_earlier_calls_ms = 80;

TensorStrides view_strides(const Problem& problem, Tensor tensor, const View& view);
TensorStrides out_view_strides(const Problem& problem, const View& view);
/// From the first element of a tensor to behind its last.
std::int64_t span_elements(const TensorShape& shape, const TensorStrides& strides);
inline bool is_packed(const View& view) {
  return view.inner == 0 && view.middle == 0 && view.outer == 0;
}

/// Copies the rows of a tensor from one place to another.
void copy_rows(const TensorShape& shape, std::int64_t element_bytes, const std::byte* from,
               const TensorStrides& from_strides, std::byte* to, const TensorStrides& to_strides);

/// What is not the default; {} when nothing is.
Json to_json(const CallForm& form);
/// Errors: parse, invalid.
Result<CallForm> call_form_from_json(const Json& json);
/// The same for people: "q k v as views, 1 thread, call 37"; empty when all is the default.
std::string to_text(const CallForm& form);

}  // namespace wb::problem
