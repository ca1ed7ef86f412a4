// SPDX-License-Identifier: MIT
// What one call asks for, checked, and how PyTorch's own attention answers it: for problems that
// the exported artifact never passed. Used by op.cpp.
#pragma once

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "wb_domain.h"

// TORCH_CHECK takes one C string as it is; several parts, and a std::string, it writes through a
// std::ostringstream of this library. message() says why there must be none.
#define WB_CHECK(condition, ...) TORCH_CHECK(condition, message(__VA_ARGS__).c_str())
#define WB_CHECK_VALUE(condition, ...) TORCH_CHECK_VALUE(condition, message(__VA_ARGS__).c_str())
#define WB_CHECK_TYPE(condition, ...) TORCH_CHECK_TYPE(condition, message(__VA_ARGS__).c_str())

namespace wb_export {

inline std::string word_of(std::string_view word) {
  return std::string(word);
}
inline std::string word_of(int64_t number) {
  return std::to_string(number);
}
inline std::string word_of(at::ScalarType dtype) {
  return c10::toString(dtype);
}
inline std::string word_of(const at::Device& device) {
  return device.str();
}
inline std::string word_of(at::IntArrayRef sizes) {
  std::string words = "[";
  for (const int64_t size : sizes) words += (words.size() > 1 ? ", " : "") + word_of(size);
  return words + "]";
}

/// The parts as one string. No stream writes it: where this library brought a C++ library of its
/// own (a compiler that found only libstdc++.a), that shares some ids of the locale's facets with
/// PyTorch's and counts the others itself; the first number that is written meets a wrong facet.
template <typename... Parts>
std::string message(const Parts&... parts) {
  return (word_of(parts) + ...);
}

/// Tensors are [B, H, S, D] whatever their strides; a mask is broadcast to [B, Hq, Sq, Skv].
struct Call {
  at::Tensor q, k, v, mask;  ///< mask: undefined without one, else of 4 dimensions
  wb_causal causal = WB_CAUSAL_NONE;
  double scale = 1;
};

inline wb_causal causal_of(c10::string_view word) {
  if (word == "none") return WB_CAUSAL_NONE;
  if (word == "top_left") return WB_CAUSAL_TOP_LEFT;
  WB_CHECK_VALUE(word == "bottom_right", "causal is \"", word,
                 "\": it must be none, top_left (PyTorch's is_causal) or bottom_right");
  return WB_CAUSAL_BOTTOM_RIGHT;
}

inline bool broadcasts(at::IntArrayRef sizes, at::IntArrayRef to) {
  if (sizes.size() > to.size()) return false;
  const at::IntArrayRef last = to.slice(to.size() - sizes.size());
  return std::equal(sizes.begin(), sizes.end(), last.begin(),
                    [](int64_t size, int64_t wanted) { return size == 1 || size == wanted; });
}

/// Raises what no implementation can answer; what only this one cannot is for the fallback.
/// __init__.py checks the same of fake tensors.
inline Call check_call(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                       const std::optional<at::Tensor>& mask, c10::string_view causal,
                       std::optional<double> scale) {
  WB_CHECK_VALUE(q.dim() == 4 && k.dim() == 4 && v.dim() == 4, "q, k and v have ", q.dim(), ", ",
                 k.dim(), " and ", v.dim(), " dimensions: they must be [B, H, S, D]");
  WB_CHECK_VALUE(k.size(0) == q.size(0) && v.size(0) == q.size(0) && v.size(1) == k.size(1) &&
                     v.size(2) == k.size(2) && k.size(3) == q.size(3),
                 "q ", q.sizes(), ", k ", k.sizes(), " and v ", v.sizes(),
                 " do not fit: they must be [B,Hq,Sq,D], [B,Hkv,Skv,D] and [B,Hkv,Skv,Dv]");
  WB_CHECK_VALUE(k.size(1) > 0 && q.size(1) % k.size(1) == 0, "Hq = ", q.size(1),
                 " is no multiple of Hkv = ", k.size(1));
  WB_CHECK_TYPE(k.scalar_type() == q.scalar_type() && v.scalar_type() == q.scalar_type(),
                "q, k and v are ", q.scalar_type(), ", ", k.scalar_type(), " and ", v.scalar_type(),
                ": they must be of one dtype");
  WB_CHECK_VALUE(k.device() == q.device() && v.device() == q.device(), "q, k and v are on ",
                 q.device(), ", ", k.device(), " and ", v.device(), ": they must be on one device");
  Call call{q, k, v, {}, causal_of(causal), 1};
  call.scale = scale.value_or(1.0 / std::sqrt(static_cast<double>(q.size(3))));
  if (!mask.has_value() || !mask->defined()) return call;
  WB_CHECK_VALUE(mask->device() == q.device(), "the mask is on ", mask->device(), ", q on ",
                 q.device());
  WB_CHECK_TYPE(mask->scalar_type() == at::kBool || mask->scalar_type() == q.scalar_type(),
                "the mask is ", mask->scalar_type(), ": it must be bool (true keeps) or of q's ",
                q.scalar_type(), " (added to the scores)");
  WB_CHECK_VALUE(broadcasts(mask->sizes(), {q.size(0), q.size(1), q.size(2), k.size(2)}),
                 "the mask is ", mask->sizes(), ": it must broadcast to [B,Hq,Sq,Skv], here [",
                 q.size(0), ", ", q.size(1), ", ", q.size(2), ", ", k.size(2), "]");
  call.mask = *mask;
  while (call.mask.dim() < 4) call.mask = call.mask.unsqueeze(0);
  return call;
}

/// [B, Hq, Sq, Dv] in q's layout: rows outside heads where q has them so. __init__.py says the
/// same.
inline at::Tensor empty_like_q(const at::Tensor& q, const at::Tensor& v) {
  const int64_t B = q.size(0), H = q.size(1), S = q.size(2), Dv = v.size(3);
  if (q.stride(1) < q.stride(2)) return at::empty({B, S, H, Dv}, q.options()).transpose(1, 2);
  return at::empty({B, H, S, Dv}, q.options());
}

/// Which keys the causal rule keeps, bool [Sq, Skv].
inline at::Tensor causal_keep(const Call& call) {
  const int64_t rows = call.q.size(2), keys = call.k.size(2);
  const int64_t diagonal = call.causal == WB_CAUSAL_BOTTOM_RIGHT ? keys - rows : 0;
  return at::ones({rows, keys}, call.q.options().dtype(at::kBool)).tril(diagonal);
}

/// By PyTorch. Rows that see no key are 0, as the variant's would be; PyTorch's kernels differ.
inline at::Tensor fallback(const Call& call) {
  std::optional<at::Tensor> mask;
  bool is_causal = call.causal == WB_CAUSAL_TOP_LEFT;
  if (call.mask.defined()) mask = call.mask;
  if (call.causal == WB_CAUSAL_BOTTOM_RIGHT || (is_causal && mask)) {
    is_causal = false;
    const at::Tensor keep = causal_keep(call);
    if (!mask) {
      mask = keep;
    } else if (mask->scalar_type() == at::kBool) {
      mask = mask->logical_and(keep);
    } else {
      mask = mask->masked_fill(keep.logical_not(), -std::numeric_limits<double>::infinity());
    }
  }
  at::Tensor out = at::scaled_dot_product_attention(call.q, call.k, call.v, mask, 0.0, is_causal,
                                                    call.scale, call.q.size(1) != call.k.size(1));
  if (!mask) return out;
  const at::Tensor keep = mask->scalar_type() == at::kBool ? *mask : mask->isneginf().logical_not();
  return out.masked_fill(keep.any(-1, true).logical_not(), 0.0);
}

}  // namespace wb_export
