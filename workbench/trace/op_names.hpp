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

/// Order of the sizes of q, k and v. `packed`: sequences T,H,D one after the other; `single`: one
/// sequence N,H,D; `one_query`: H,D and N,H,D; `named`: the order is an argument of the call;
/// `numbered`: it is TransformerEngine's number of an order; `pages`: keys lie in pages, how many
/// count stands in tensors; `chosen`: each query sees the keys that a list names; `unknown`: not
/// known here.
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

/// How a call writes down whether it is causal: True and False (or 1 and 0); xformers' number of
/// the mask (1 from the top left, 2 from the bottom right); FlashInfer's (1 causal, 2 a mask of its
/// own); TransformerEngine's (2 and 3 from the top left, 4 and 5 from the bottom right, the odd
/// ones with padding).
enum class CausalWord : std::uint8_t { flag, mask_type, mask_mode, te_mask };

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
  int mask = -1;            ///< an additive or boolean mask
  CausalWord causal_word = CausalWord::flag;
  bool bottom_right = false;  ///< causal means: the last query sees all keys
  int window = -1;            ///< keys to the left that count; 0 and more is a sliding window
  int starts = -1;            ///< starts of packed sequences: one more than there are sequences
  int longest = -1;           ///< length of the longest query, then of the longest key sequence
  int used = -1;              ///< how many keys of each sequence count
  int page_table = -1;
  int layout = -1;  ///< of `named` and `single` sizes: 0 or NHD, 1 or HND; of `numbered` the number
  int output = -1;  ///< where v's head dim is read when v itself is stored in another order
  int step = 1;     ///< from q's place to k's, and from k's to v's
  int keys = -1;    ///< where the keys are when they do not follow q
  int indices = -1;  ///< of `chosen` sizes: the list, whose last size is how many keys it names
  int counts = -1;   ///< how many of the list each query uses, where it is given
  int more_indices = -1;  ///< a second list, of other pages
  int more_counts = -1;
  int value_depth = -1;       ///< v's head dim as a number, where v is the first part of k
  std::string_view why = {};  ///< why its work is never known; empty: it may be
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

/// Whether an operator calls itself attention.
bool names_attention(std::string_view name);
/// Whether a GPU kernel does: by the names that libraries of attention give their kernels. A fused
/// pointwise kernel that lists attention among what it fused does not; FlexAttention's does.
bool is_attention_kernel(std::string_view name);

/// Operators of libraries beside PyTorch (library_ops.cpp): rows by name, and by their families.
std::optional<OpRule> library_rule(std::string_view name);
/// Private to it (server_ops.cpp): FlashMLA in all its builds and what servers have beside it.
/// `low` is the name in small letters.
std::optional<OpRule> server_rule(std::string_view name, std::string_view low);

/// Whether a name asks for its arguments to be kept while reading.
bool keeps_arguments(std::string_view name);

}  // namespace wb::trace
