// SPDX-License-Identifier: MIT
// Which operators of a profile are attention, and how each records its arguments: the one place
// that knows names. Called while reading (what to keep) and when operators are collected.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace wb::trace {

/// How the family computes: in one fused kernel, over pages of a KV cache, or step by step.
enum class Attention : std::uint8_t { flash, paged, standard };
std::string_view to_string(Attention value);

/// Order of the sizes of q, k and v: B,H,N,D, B,N,H,D, or packed sequences T,H,D.
enum class Sizes : std::uint8_t { bhnd, bnhd, packed };

/// One operator that is attention. Argument places are those of its schema; -1: it has none.
struct OpRule {
  std::string_view name;
  Attention attention = Attention::flash;
  Sizes sizes = Sizes::bhnd;
  bool backward = false;
  int q = 0;  ///< k and v follow
  int dropout = -1;
  int causal = -1;
  bool dispatches = false;  ///< calls another of these: counts only where none is inside
  int mask = -1;            ///< an additive or boolean mask; forward only
};

/// Nothing when the name is no attention.
std::optional<OpRule> rule_of(std::string_view name);

/// The operator that writes new keys and values into a paged cache, beside the attention itself.
bool writes_kv_cache(std::string_view name);

/// Steps of attention that is not fused.
enum class Step : std::uint8_t { none, product, softmax, scale };
Step step_of(std::string_view name);
/// A step between product and softmax that changes which keys count, and by how much.
bool adds_mask(std::string_view name);

/// Whether an operator or a GPU kernel calls itself attention.
bool names_attention(std::string_view name);

/// Whether a name asks for its arguments to be kept while reading.
bool keeps_arguments(std::string_view name);

}  // namespace wb::trace
