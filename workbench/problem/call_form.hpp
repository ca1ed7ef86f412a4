// SPDX-License-Identifier: MIT
// CallForm: the freedoms that a caller has and no problem states: tensors that are views into
// larger ones, pointers aligned to one element only, few threads, a later call of a plan, another
// plan beside it. A verdict draws it (docs/contracts/measurement.md, "Drawn runs"). The default is
// a timed turn's form: packed tensors, all threads, first call of the only plan.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/error.hpp"
#include "core/json_fwd.hpp"
#include "problem/inputs.hpp"

namespace wb::problem {

/// How a tensor lies in a larger one, in elements: the gap after each step of its inner, middle and
/// outer dimension in memory (rows, heads, batches of a BHSD tensor; heads, rows, batches of a BSHD
/// one), and the offset of its first element from an aligned address.
struct View {
  std::int64_t inner = 0, middle = 0, outer = 0, shift = 0;
  friend bool operator==(const View&, const View&) = default;
};

struct CallForm {
  View q, k, v, mask, out;  ///< for a mask, middle is the row dimension and inner is unused
  std::int64_t lse_shift = 0;
  std::int64_t threads = 0;  ///< the most threads; 0: all that the session has
  std::int64_t call = 1;     ///< which call of its plan is judged; earlier calls get other inputs
  /// Another plan of the same process, for another problem that the variant supports. It is made
  /// and called once between the creation of the judged plan and its call.
  std::optional<Problem> beside;
  bool beside_is_gone = false;  ///< the plan beside is destroyed before the judged call

  friend bool operator==(const CallForm&, const CallForm&) = default;
};

inline constexpr std::int64_t k_most_gap = 4'096;     ///< largest gap of a View, in elements
inline constexpr std::int64_t k_latest_call = 4'000;  ///< largest CallForm::call
/// The calls before the judged one stop after this time, even if fewer than requested were made.
inline constexpr std::int64_t k_earlier_calls_ms = 80;

TensorStrides view_strides(const Problem& problem, Tensor tensor, const View& view);
TensorStrides out_view_strides(const Problem& problem, const View& view);
/// Elements from the first of a tensor to the one past its last.
std::int64_t span_elements(const TensorShape& shape, const TensorStrides& strides);
inline bool is_packed(const View& view) {
  return view.inner == 0 && view.middle == 0 && view.outer == 0;
}

/// Copies the rows of a tensor between storages with different strides.
void copy_rows(const TensorShape& shape, std::int64_t element_bytes, const std::byte* from,
               const TensorStrides& from_strides, std::byte* to, const TensorStrides& to_strides);

/// The fields that differ from the default; {} when none does.
Json to_json(const CallForm& form);
/// Errors: parse, invalid.
Result<CallForm> call_form_from_json(const Json& json);
/// For people: "q k v as views, 1 thread, call 37"; empty when all is the default.
std::string to_text(const CallForm& form);

}  // namespace wb::problem
