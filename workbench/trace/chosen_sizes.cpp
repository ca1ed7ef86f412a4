// SPDX-License-Identifier: MIT
// Attention in which a list selects the keys of each query. All list entries count, as in
// FlashMLA's own figures: an entry without a key is computed like the others.
#include <fmt/format.h>

#include <optional>
#include <string>

#include "trace/argument_shapes.hpp"

namespace wb::trace {
namespace {

/// The bytes of one key. In pages (blocks, tokens, heads, …) the last size may exceed the number of
/// elements, because fp8 keys store their scales beside them.
std::optional<double> bytes_of_key(const Shape& keys, bool in_pages, const std::string& type) {
  const auto size = dtype_bytes(dtype_word(type));
  if (!size || keys.size() != (in_pages ? 4U : 3U)) return std::nullopt;
  return static_cast<double>(keys.back() * *size);
}

}  // namespace

SizesOrWhy chosen_sizes(const OpRule& rule, const RecordedArgs& args) {
  const int keys = rule.keys < 0 ? rule.q + 1 : rule.keys;
  const auto q = args.tensor(rule.q), k = args.tensor(keys), list = args.tensor(rule.indices);
  const auto value_depth = args.integer(rule.value_depth);
  if (!q || q->size() < 3 || q->size() > 4 || !k || k->size() < 3 || !list || list->size() != 3) {
    return {{}, "the sizes of q, of the keys and of the list of chosen keys are not recorded"};
  }
  const bool batched = q->size() == 4;  // then the list is B, N, keys; else N, heads, keys
  AttentionSizes sizes;
  sizes.B = batched ? (*q)[0] : 1;
  sizes.N_Q = (*q)[batched ? 1 : 0];
  sizes.H_Q = (*q)[batched ? 2 : 1];
  sizes.d_qk = q->back();
  sizes.H_KV = batched ? 1 : (*k)[1];
  sizes.N_KV = list->back();
  const bool fits = batched ? (*list)[0] == sizes.B && (*list)[1] == sizes.N_Q
                            : (*list)[0] == sizes.N_Q && (*list)[1] == sizes.H_KV &&
                                  k->size() == 3 && k->back() == sizes.d_qk;
  if (!fits) return {{}, "the sizes of q, of the keys and of the list do not fit together"};
  if (!value_depth || *value_depth < 1 || *value_depth > sizes.d_qk) {
    return {{}, "the values' head dim is not recorded"};
  }
  sizes.d_v = *value_depth;
  if (args.has_tensor(rule.counts) || args.has_tensor(rule.more_counts)) {
    return {{},
            fmt::format("how many of its {} chosen keys each query uses stands in a tensor, whose "
                        "values are not recorded",
                        sizes.N_KV)};
  }
  if (args.has_tensor(rule.more_indices)) {
    const auto more = args.tensor(rule.more_indices);
    if (!more || more->empty()) return {{}, "the size of the second list is not recorded"};
    sizes.N_KV += more->back();
  }
  sizes.causal = false;
  sizes.chosen = true;
  sizes.dtype = dtype_word(args.type(rule.q));
  // Queries of one sequence may share a list, so at least one list must move.
  const auto key = bytes_of_key(*k, batched, args.type(keys));
  const auto element = dtype_bytes(sizes.dtype);
  sizes.bytes_known = key && element;
  if (!sizes.bytes_known) return {std::move(sizes), {}};
  const auto queries = static_cast<double>(sizes.B * sizes.N_Q * sizes.H_Q);
  sizes.tensor_bytes = queries * static_cast<double>((sizes.d_qk + sizes.d_v) * *element) +
                       static_cast<double>(sizes.B * sizes.N_KV * sizes.H_KV) * *key;
  return {std::move(sizes), {}};
}

}  // namespace wb::trace
