// SPDX-License-Identifier: MIT
#include "trace/argument_shapes.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "core/json.hpp"

namespace wb::trace {

std::string text_of(const Shape& shape) {
  return fmt::format("({})", fmt::join(shape, ", "));
}

std::optional<AttentionSizes> dense(const Shape& q, const Shape& k, const Shape& v,
                                    std::size_t batch, std::size_t heads, std::size_t length) {
  if (q.size() != 4 || k.size() != 4 || v.size() != 4) return std::nullopt;
  if (k[length] != v[length] || k[heads] != v[heads] || q[3] != k[3] || q[batch] != k[batch] ||
      k[batch] != v[batch]) {
    return std::nullopt;
  }
  return AttentionSizes{q[batch], q[length], q[heads], k[length], k[heads], q[3], v[3], {}, 0, {}};
}

SizesOrWhy fitting(std::optional<AttentionSizes> sizes) {
  return sizes ? SizesOrWhy{std::move(sizes), {}} : SizesOrWhy{{}, std::string(k_unfit)};
}

Shape swapped(Shape shape, std::size_t a, std::size_t b) {
  if (std::max(a, b) < shape.size()) std::swap(shape[a], shape[b]);
  return shape;
}

// Attention in which a list selects the keys of each query. All list entries count, as in
// FlashMLA's own figures: an entry without a key is computed like the others.

namespace {

/// The bytes of one key. In pages (blocks, tokens, heads, …) the last size may exceed the number
/// of elements, because fp8 keys store their scales beside them.
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

namespace {

// Reads TransformerEngine's order of sizes: words ("sbhd_sbhd_sbhd") in its autograd functions,
// numbers in the operators below them.

constexpr std::string_view k_packed = "packed sequences: their lengths are not recorded";

/// The word among the arguments that gives the order of sizes: "bshd_bshd_bshd", "sb3hd",
/// "thd_t2hd", "HND".
std::string order_word(const RecordedArgs& args) {
  if (!args.concrete.is_array()) return {};
  for (const Json& item : args.concrete) {
    if (!item.is_string()) continue;
    std::string word = item.get<std::string>();
    std::erase_if(word, [](char c) { return c == '\'' || c == '"'; });
    for (const char* order : {"bshd", "sbhd", "thd", "bhsd"}) {
      if (word.starts_with(order)) return order;
    }
  }
  return {};
}

/// The sizes, by the words for the order of q and of k and v.
SizesOrWhy ordered(std::string_view order, std::string_view of_keys, const Shape& q, Shape k,
                   Shape v) {
  if (order == "thd" || of_keys == "thd") return {{}, std::string(k_packed)};
  if (order == "bhsd" && of_keys == order) return fitting(dense(q, k, v, 0, 1, 2));
  if (order != of_keys) {  // one is sbhd, the other bshd
    k = swapped(std::move(k), 0, 1);
    v = swapped(std::move(v), 0, 1);
  }
  return fitting(order == "sbhd" ? dense(q, k, v, 1, 2, 0) : dense(q, k, v, 0, 2, 1));
}

}  // namespace

SizesOrWhy named_sizes(const RecordedArgs& args, int& first) {
  for (int i = 0; args.dims.is_array() && i + 2 < static_cast<int>(args.dims.size()); ++i) {
    const auto q = args.tensor(i), k = args.tensor(i + 1), v = args.tensor(i + 2);
    if (!q || !k || !v || q->size() < 3 || q->size() != k->size() || k->size() != v->size()) {
      continue;
    }
    first = i;
    const std::string order = order_word(args);
    if (order == "thd" || q->size() == 3) return {{}, std::string(k_packed)};
    if (order.empty()) {
      return {{},
              fmt::format("whether batch or length comes first is not recorded: q is {}, k {}",
                          text_of(*q), text_of(*k))};
    }
    return ordered(order, order, *q, *k, *v);
  }
  return {{}, "the sizes of q, k and v are not recorded"};
}

SizesOrWhy numbered_sizes(const OpRule& rule, const RecordedArgs& args, const Shape& q,
                          const Shape& k, const Shape& v) {
  const auto number = args.integer(rule.layout);
  if (!number) {
    return {{},
            fmt::format("whether batch or length comes first is not recorded: q is {}, k {}",
                        text_of(q), text_of(k))};
  }
  // Five numbers each have the same order, for each way in which q, k and v share memory.
  constexpr std::array<std::string_view, 3> k_shared{"sbhd", "bshd", "thd"};
  if (*number >= 0 && *number < 15) {
    const std::string_view order = k_shared[static_cast<std::size_t>(*number / 5)];
    return ordered(order, order, q, k, v);
  }
  constexpr std::int64_t k_first_paged = 19, k_bhsd = 25;
  if (*number == 15) return ordered("sbhd", "bshd", q, k, v);
  if (*number == 16) return ordered("bshd", "sbhd", q, k, v);
  if (*number == 17 || *number == 18) return ordered("thd", "bshd", q, k, v);
  if (*number == k_bhsd) return ordered("bhsd", "bhsd", q, k, v);
  if (*number >= k_first_paged && *number < k_bhsd) {
    return {{},
            "attention over pages: how many keys each query has stands in tensors, whose values "
            "are not recorded"};
  }
  return {{}, fmt::format("the order of the sizes has the number {}, which is none", *number)};
}

void read_mask_word(const RecordedArgs& args, int q, AttentionSizes& sizes) {
  const auto bias = args.tensor(q + 3);
  sizes.masked = bias && bias->size() == 4;
  for (const Json& item : args.concrete.is_array() ? args.concrete : Json::array()) {
    const std::string word = item.is_string() ? item.get<std::string>() : std::string();
    if (word.find("no_mask") != std::string::npos) sizes.causal = false;
    if (word.find("causal") != std::string::npos) {
      sizes.causal = true;
      sizes.bottom_right = word.find("bottom_right") != std::string::npos;
    }
    if (word.find("padding") != std::string::npos) sizes.lengths_known = false;
  }
}

void read_mask_number(const RecordedArgs& args, int place, AttentionSizes& sizes) {
  const auto number = args.integer(place);
  if (!number || *number < 0 || *number > 5) return;
  sizes.causal = *number >= 2;
  sizes.bottom_right = *number >= 4;
  if (*number % 2 == 1) sizes.lengths_known = false;  // with padding
}

void read_numbers(const OpRule& rule, const RecordedArgs& args, AttentionSizes& sizes) {
  // A plain call has no bias, no ALiBi slopes and no extra softmax term.
  for (const int place : {rule.layout + 1, rule.layout + 3}) {
    const auto number = args.integer(place);
    if (!number || *number != 0) sizes.masked = true;
  }
  if (!sizes.dtype.starts_with("uint8")) return;
  sizes.dtype = "fp8";
  // The gradients have their own dtypes, which are numbers in a tensor.
  if (rule.backward) sizes.bytes_known = false;
}

}  // namespace wb::trace
