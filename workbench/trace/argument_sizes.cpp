// SPDX-License-Identifier: MIT
// Derives the sizes of an attention call from the recorded arguments of one operator, at the
// positions that its rule names. If lengths are in tensors, whose values no profile holds, the
// reason says so.
#include <fmt/format.h>

#include <array>
#include <charconv>
#include <limits>

#include "core/json.hpp"
#include "trace/argument_shapes.hpp"

namespace wb::trace {
namespace {

/// Larger sizes cannot belong to a tensor; figures from them would be nonsense.
constexpr std::int64_t k_max_size = std::int64_t{1} << 40;

/// Sizes from (tokens, heads, depth), for one sequence or several concatenated ones.
std::optional<AttentionSizes> in_a_row(const Shape& q, const Shape& k, const Shape& v) {
  if (q.size() != 3 || k.size() != 3 || v.size() != 3) return std::nullopt;
  if (q[2] != k[2] || k[0] != v[0] || k[1] != v[1]) return std::nullopt;
  return AttentionSizes{1, q[0], q[1], k[0], k[1], q[2], v[2], {}, 0, {}};
}

/// Sizes of concatenated sequences whose starts are in a tensor. They are known for one sequence,
/// or if all have the maximum length; else only the number of sequences is known.
SizesOrWhy packed_sizes(const OpRule& rule, const RecordedArgs& args, AttentionSizes sizes) {
  const auto starts = args.tensor(rule.starts);
  if (!starts || starts->size() != 1 || starts->front() < 2) {
    sizes.lengths_known = false;
    return {std::move(sizes), {}};
  }
  const std::int64_t count = starts->front() - 1;
  if (args.has_tensor(rule.used)) {
    return {{},
            "how many keys of each sequence count stands in a tensor, whose values are not "
            "recorded"};
  }
  sizes.B = count;
  if (count == 1) return {std::move(sizes), {}};
  const auto query = args.integer(rule.longest);
  const auto key = args.integer(rule.longest < 0 ? -1 : rule.longest + 1);
  if (query && key && *query * count == sizes.N_Q && *key * count == sizes.N_KV) {
    sizes.N_Q = *query;
    sizes.N_KV = *key;
    return {std::move(sizes), {}};
  }
  return {{},
          fmt::format("packed sequences: {} of them, whose lengths are not recorded ({} queries "
                      "and {} keys together)",
                      count, sizes.N_Q, sizes.N_KV)};
}

/// Whether heads come before tokens: 0 or NHD is tokens first, 1 or HND is heads first.
std::optional<bool> heads_first(const OpRule& rule, const RecordedArgs& args) {
  const std::string word = args.word(rule.layout);
  if (word == "0" || word == "NHD") return false;
  if (word == "1" || word == "HND") return true;
  return std::nullopt;
}

SizesOrWhy shaped(const OpRule& rule, const RecordedArgs& args, const Shape& q, const Shape& k,
                  Shape v) {
  const auto first = heads_first(rule, args);
  if (rule.layout >= 0 && !first) {
    return {{}, "whether heads or tokens come first is not recorded"};
  }
  if (rule.sizes == Sizes::named) {
    // v may be stored transposed and padded: it has the keys of k and the depth of the output.
    const auto out = args.tensor(rule.output);
    if (out && out->size() == 4 && k.size() == 4) {
      v = k;
      v[3] = (*out)[3];
    }
    return fitting(*first ? dense(q, k, v, 0, 1, 2) : dense(q, k, v, 0, 2, 1));
  }
  if (rule.sizes == Sizes::single) {
    return fitting(*first ? in_a_row(q, swapped(k, 0, 1), swapped(v, 0, 1)) : in_a_row(q, k, v));
  }
  if (rule.sizes == Sizes::one_query) {
    if (q.size() != 2) return {{}, std::string(k_unfit)};
    const Shape one{1, q[0], q[1]};
    return fitting(*first ? in_a_row(one, swapped(k, 0, 1), swapped(v, 0, 1))
                          : in_a_row(one, k, v));
  }
  const bool flat = q.size() == 3 && rule.starts >= 0;
  const bool starts = args.has_tensor(rule.starts);
  if (rule.sizes == Sizes::packed || flat || starts) {
    const auto one = [](const Shape& shape) {  // xformers' packed tensors have a batch of one
      return shape.size() == 4 && shape[0] == 1 ? Shape(shape.begin() + 1, shape.end()) : shape;
    };
    auto sizes = in_a_row(one(q), one(k), one(v));
    if (!sizes) return {{}, std::string(k_unfit)};
    if (!starts && rule.sizes != Sizes::packed) {
      return {{}, "packed sequences: their lengths are not recorded"};
    }
    return packed_sizes(rule, args, *std::move(sizes));
  }
  if (args.has_tensor(rule.used)) {
    return {{},
            "how many keys of each sequence count stands in a tensor, whose values are not "
            "recorded"};
  }
  const bool bhnd = rule.sizes == Sizes::bhnd;
  return fitting(bhnd ? dense(q, k, v, 0, 1, 2) : dense(q, k, v, 0, 2, 1));
}

/// Reads whether the call is causal, and from which corner; nothing if that is not recorded.
void read_causal(const OpRule& rule, const RecordedArgs& args, AttentionSizes& sizes) {
  const std::string word = args.word(rule.causal);
  if (rule.bottom_right) sizes.bottom_right = true;
  if (rule.causal_word == CausalWord::flag) {
    if (word == "True" || word == "1") sizes.causal = true;
    if (word == "False" || word == "0") sizes.causal = false;
    return;
  }
  if (rule.causal_word == CausalWord::te_mask) return read_mask_number(args, rule.causal, sizes);
  if (word != "0" && word != "1" && word != "2") return;
  sizes.causal = word != "0";
  if (rule.causal_word == CausalWord::mask_type) {
    sizes.bottom_right = word == "2";
  } else if (word == "2") {
    sizes.causal = false;
    sizes.masked = true;
  }
}

/// Counts bytes by each tensor's own dtype, if q is quantized and the others are not.
void read_mixed(const OpRule& rule, const RecordedArgs& args, int q, AttentionSizes& sizes) {
  if (rule.output < 0) return;
  double bytes = 0;
  const double queries = static_cast<double>(sizes.B * sizes.N_Q * sizes.H_Q),
               keys = static_cast<double>(sizes.B * sizes.N_KV * sizes.H_KV);
  const std::array<std::pair<int, double>, 4> parts{
      {{q, queries * static_cast<double>(sizes.d_qk)},
       {q + rule.step, keys * static_cast<double>(sizes.d_qk)},
       {q + 2 * rule.step, keys * static_cast<double>(sizes.d_v)},
       {rule.output, queries * static_cast<double>(sizes.d_v)}}};
  for (const auto& [place, elements] : parts) {
    const auto size = dtype_bytes(dtype_word(args.type(place)));
    if (!size) return;
    bytes += elements * *size;
  }
  sizes.tensor_bytes = bytes;
  const std::string value = dtype_word(args.type(q + 2 * rule.step));
  if (!sizes.dtype.empty() && value != sizes.dtype) sizes.dtype += "+" + value;
}

void read_dropout(const OpRule& rule, const RecordedArgs& args, AttentionSizes& sizes) {
  const std::string dropout = args.word(rule.dropout);
  if (dropout.empty()) return;
  const char* end = dropout.data() + dropout.size();
  const auto [stop, fault] = std::from_chars(dropout.data(), end, sizes.dropout);
  const bool good = fault == std::errc() && sizes.dropout >= 0 && sizes.dropout <= 1;
  if (!good) sizes.dropout = std::numeric_limits<double>::quiet_NaN();
}

}  // namespace

std::string RecordedArgs::word(int place) const {
  if (place < 0 || !concrete.is_array() || static_cast<std::size_t>(place) >= concrete.size()) {
    return {};
  }
  const Json& item = concrete[static_cast<std::size_t>(place)];
  return item.is_string() ? item.get<std::string>() : std::string();
}

std::string RecordedArgs::type(int place) const {
  return RecordedArgs{{}, {}, types}.word(place);
}

std::optional<std::int64_t> RecordedArgs::integer(int place) const {
  std::string text = word(place);
  if (text.starts_with('[')) text = text.substr(1, text.find_first_of(",]") - 1);
  std::int64_t value = 0;
  const auto [stop, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || fault != std::errc() || stop != text.data() + text.size())
    return std::nullopt;
  return value > -k_max_size && value < k_max_size ? std::optional(value) : std::nullopt;
}

std::optional<std::vector<std::int64_t>> RecordedArgs::tensor(int place) const {
  if (place < 0 || !dims.is_array() || static_cast<std::size_t>(place) >= dims.size()) {
    return std::nullopt;
  }
  const Json& list = dims[static_cast<std::size_t>(place)];
  if (!list.is_array()) return std::nullopt;
  std::vector<std::int64_t> sizes;
  for (const Json& size : list) {
    if (!size.is_number_integer()) return std::nullopt;
    const auto value = size.get<std::int64_t>();
    if (value < 1 || value > k_max_size) return std::nullopt;
    sizes.push_back(value);
  }
  return sizes;
}

bool RecordedArgs::has_tensor(int place) const {
  if (place < 0 || !dims.is_array() || static_cast<std::size_t>(place) >= dims.size()) return false;
  const Json& sizes = dims[static_cast<std::size_t>(place)];
  return sizes.is_array() && !sizes.empty();
}

SizesOrWhy sizes_of_arguments(const OpRule& rule, const RecordedArgs& args) {
  if (!rule.why.empty()) return {{}, std::string(rule.why)};
  if (rule.sizes == Sizes::unknown) {
    return {{}, "the order of its arguments is not known here, so its sizes are not read"};
  }
  int first = rule.q;
  SizesOrWhy result;
  if (rule.sizes == Sizes::named && rule.layout < 0) {
    result = named_sizes(args, first);
  } else if (rule.sizes == Sizes::chosen && args.has_tensor(rule.indices)) {
    return chosen_sizes(rule, args);
  } else {
    const int keys = rule.keys < 0 ? first + rule.step : rule.keys;
    const auto q = args.tensor(first), k = args.tensor(keys), v = args.tensor(keys + rule.step);
    const bool over_pages = rule.sizes == Sizes::pages || args.has_tensor(rule.page_table) ||
                            (rule.sizes == Sizes::chosen && rule.attention == Attention::paged);
    const bool has_keys = q && !q->empty() && k && !k->empty();
    if (over_pages && has_keys) {
      return {{},
              fmt::format("attention over pages: q is {}, the pages are {}; how many keys each "
                          "query has stands in tensors, whose values are not recorded",
                          text_of(*q), text_of(*k))};
    }
    if (has_keys && rule.sizes == Sizes::chosen) {
      return {{}, "the list of the keys that each query sees is not recorded"};
    }
    if (!has_keys || !v || v->empty()) return {{}, "the sizes of q, k and v are not recorded"};
    result = rule.sizes == Sizes::numbered ? numbered_sizes(rule, args, *q, *k, *v)
                                           : shaped(rule, args, *q, *k, *v);
  }
  if (!result.sizes) return result;
  AttentionSizes& sizes = *result.sizes;
  sizes.dtype = dtype_word(args.type(first));
  if (first != rule.q) {
    read_mask_word(args, first, sizes);
  } else {
    sizes.masked = args.has_tensor(rule.mask);
    read_causal(rule, args, sizes);
  }
  const auto window = args.integer(rule.window);
  sizes.windowed = window && *window >= 0;
  if (rule.sizes == Sizes::one_query) sizes.causal = false;  // one query attends to all keys
  read_mixed(rule, args, first, sizes);
  if (rule.sizes == Sizes::numbered) read_numbers(rule, args, sizes);
  read_dropout(rule, args, sizes);
  return result;
}

}  // namespace wb::trace
