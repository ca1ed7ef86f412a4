// SPDX-License-Identifier: MIT
// Which operators of a profile are attention, and how each records its arguments. The only place
// that knows operator names. Used while reading (what to keep) and when operators are collected.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace wb::trace {

/// How an operator computes: in one fused kernel, over pages of a KV cache, or step by step.
enum class Attention : std::uint8_t { flash, paged, standard };
std::string_view to_string(Attention value);

/// Order of the sizes of q, k and v. `packed`: T,H,D, sequences one after the other; `single`: one
/// sequence N,H,D; `one_query`: H,D and N,H,D; `named`: an argument of the call gives the order;
/// `numbered`: TransformerEngine's number of an order; `pages`: keys are in pages, and tensors hold
/// how many count; `chosen`: each query sees the keys of a list; `unknown`: an order that is not
/// supported.
enum class Sizes : std::uint8_t {
  bhnd,
  bnhd,
  packed,
  single,
  one_query,
  named,
  numbered,
  pages,
  chosen,
  unknown
};

/// How a call records causality. flag: True and False (or 1 and 0). mask_type: xformers' number of
/// the mask (1 from the top left, 2 from the bottom right). mask_mode: FlashInfer's (1 causal, 2 a
/// custom mask). te_mask: TransformerEngine's (2 and 3 from the top left, 4 and 5 from the bottom
/// right, the odd ones with padding).
enum class CausalWord : std::uint8_t { flag, mask_type, mask_mode, te_mask };

/// An attention operator. Argument positions are those of its schema; -1: it has none.
struct OpRule {
  std::string_view name;
  Attention attention = Attention::flash;
  Sizes sizes = Sizes::bhnd;
  bool backward = false;
  int q = 0;  ///< k and v follow
  int dropout = -1;
  int causal = -1;
  /// Calls another of these operators: counts only if none is recorded inside.
  bool dispatches = false;
  int mask = -1;  ///< an additive or boolean mask
  CausalWord causal_word = CausalWord::flag;
  bool bottom_right = false;  ///< causal with the last query seeing all keys
  int window = -1;   ///< number of visible keys to the left; 0 and more is a sliding window
  int starts = -1;   ///< starts of packed sequences: one more entry than sequences
  int longest = -1;  ///< length of the longest query, then of the longest key sequence
  int used = -1;     ///< number of keys that count in each sequence
  int page_table = -1;
  int layout = -1;   ///< for `named` and `single`: 0 or NHD, 1 or HND; for `numbered` the number
  int output = -1;   ///< where to read v's head dim when v itself is stored in another order
  int step = 1;      ///< distance from q's position to k's, and from k's to v's
  int keys = -1;     ///< position of the keys when they do not follow q
  int indices = -1;  ///< for `chosen`: the list, whose last size is its number of keys
  int counts = -1;   ///< how many keys of the list each query uses, if given
  int more_indices = -1;  ///< a second list, of other pages
  int more_counts = -1;
  int value_depth = -1;       ///< v's head dim as a number, when v is the first part of k
  std::string_view why = {};  ///< why its work is never known; empty: it may be
};

/// Nothing when the name is no attention operator.
std::optional<OpRule> rule_of(std::string_view name);

/// True for the operator that writes new keys and values into a paged cache, beside attention
/// itself.
bool writes_kv_cache(std::string_view name);

/// Steps of unfused attention.
enum class Step : std::uint8_t { none, product, softmax, scale };
Step step_of(std::string_view name);
/// True for a step between product and softmax that masks or weights keys.
bool adds_mask(std::string_view name);

/// True when an operator's name contains attention.
bool names_attention(std::string_view name);
/// True when a GPU kernel's name is that of an attention library. A fused pointwise kernel that
/// lists attention among its parts does not count; FlexAttention's does.
bool is_attention_kernel(std::string_view name);

/// Operators of libraries other than PyTorch (library_ops.cpp): by name, and by family.
std::optional<OpRule> library_rule(std::string_view name);
/// Private to it: FlashMLA in all its builds and the related operators of servers.
/// `low` is the name in lower case.
std::optional<OpRule> server_rule(std::string_view name, std::string_view low);

/// True when the arguments of this operator must be kept while reading.
bool keeps_arguments(std::string_view name);

}  // namespace wb::trace
