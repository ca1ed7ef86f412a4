// SPDX-License-Identifier: MIT
#include "trace/op_sizes.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include "core/ascii.hpp"
#include "core/json.hpp"

namespace wb::trace {

namespace {

constexpr double k_max_tokens = 9e15;  // a double holds each up to there

Json recorded(const Trace& trace, std::uint32_t id) {
  if (id == k_none) return {};
  const auto parsed = parse_json(trace.text(id), "an operator's arguments");
  return parsed ? *parsed : Json();
}

std::optional<std::vector<std::int64_t>> tensor(const Json& dims, std::size_t index) {
  return RecordedArgs{dims, {}, {}}.tensor(static_cast<int>(index));
}

double numel(const std::vector<std::int64_t>& sizes) {
  double count = 1;
  for (const std::int64_t size : sizes) count *= static_cast<double>(size);
  return count;
}

Json dims_of(const Trace& trace, std::uint32_t host) {
  const std::uint32_t args = trace.host[host].args;
  return args == k_none ? Json() : recorded(trace, trace.args[args].dims);
}

/// baddbmm adds to its first argument and multiplies the next two.
std::size_t left_factor(const Trace& trace, std::uint32_t host) {
  return trace.text(trace.host[host].name) == "aten::baddbmm" ? 1 : 0;
}

/// Whether the step is possible: a prefill's queries attend to at least the causal half of their
/// own square.
bool can_be(const ServingStep& s) {
  return s.ctx_k >= s.ctx_q && 2 * s.ctx_qk >= s.ctx_qq && s.gen_k >= s.gen_q &&
         2 * s.gen_qk >= s.gen_qq;
}

/// Reads "sq8155sk8430sqsq7475785sqsk7671310" from the front of `text`: key, number, key, …
bool read_tokens(std::string_view text, std::array<double, 4>& values) {
  constexpr std::array<std::string_view, 4> k_keys{"sq", "sk", "sqsq", "sqsk"};
  for (std::size_t i = 0; i < k_keys.size(); ++i) {
    if (!text.starts_with(k_keys[i])) return false;
    text.remove_prefix(k_keys[i].size());
    const auto [stop, fault] = std::from_chars(text.data(), text.data() + text.size(), values[i]);
    if (fault != std::errc() || !(values[i] >= 0 && values[i] < k_max_tokens)) return false;
    text.remove_prefix(static_cast<std::size_t>(stop - text.data()));
  }
  return text.empty();
}

/// Finds "context_9(…)" in the text: the number of requests and the text in the brackets.
bool read_phase(std::string_view text, std::string_view phase, std::int64_t& requests,
                std::string_view& inside) {
  const std::size_t at = text.find(phase);
  if (at == std::string_view::npos) return false;
  text.remove_prefix(at + phase.size());
  const auto [stop, fault] = std::from_chars(text.data(), text.data() + text.size(), requests);
  if (fault != std::errc()) return false;
  text.remove_prefix(static_cast<std::size_t>(stop - text.data()));
  const std::size_t close = text.find(')');
  if (!text.starts_with('(') || close == std::string_view::npos) return false;
  inside = text.substr(1, close - 1);
  return true;
}

bool read_count(std::string_view text, double& value) {
  const auto [stop, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  return fault == std::errc() && value >= 0 && value < k_max_tokens &&
         (stop == text.data() + text.size() || *stop == '_');  // "512_262144": with its square
}

}  // namespace

std::string dtype_word(std::string_view recorded) {
  std::string low;
  for (const char c : recorded) {
    low += ascii::lower(c);
  }
  const std::size_t scope = low.rfind(':');
  if (scope != std::string::npos) low.erase(0, scope + 1);
  if (low == "bfloat16") return "bf16";
  if (low == "half" || low == "float16") return "fp16";
  if (low == "float" || low == "float32") return "fp32";
  if (low == "double" || low == "float64") return "fp64";
  if (low.starts_with("float8")) return "fp8";
  if (low == "signed char" || low == "int8") return "int8";
  if (low == "unsigned char" || low == "uint8") return "uint8";
  return {};
}

std::optional<int> dtype_bytes(std::string_view word) {
  if (word == "bf16" || word == "fp16") return 2;
  if (word == "fp32") return 4;
  if (word == "fp64") return 8;
  if (word == "fp8" || word == "int8" || word == "uint8") return 1;
  return std::nullopt;
}

SizesOrWhy sizes_of(const Trace& trace, const SdpaCall& call) {
  if (call.kind == CallKind::kv_cache) return {{}, "writing the KV cache is no attention"};
  if (!call.steps.empty()) {
    auto sizes = sizes_of_steps(trace, call.steps[0], call.steps[1], call.steps[2]);
    if (sizes) sizes->masked = call.masked;
    return sizes ? SizesOrWhy{std::move(sizes), {}}
                 : SizesOrWhy{{}, "the recorded sizes are not those of one attention"};
  }
  if (trace.host[call.host].args == k_none) {
    return {{}, "no arguments are recorded (record_shapes=True does)"};
  }
  return sizes_of_arguments(call.rule, recorded_args(trace, call.host));
}

RecordedArgs recorded_args(const Trace& trace, std::uint32_t host) {
  const OpArgs& args = trace.args[trace.host[host].args];
  return {recorded(trace, args.dims), recorded(trace, args.types), recorded(trace, args.concrete)};
}

std::optional<AttentionSizes> sizes_of_steps(const Trace& trace, std::uint32_t product,
                                             std::uint32_t softmax, std::uint32_t last) {
  const auto dims = [&](std::uint32_t host) { return dims_of(trace, host); };
  const auto types = [&](std::uint32_t host) {
    return recorded(trace, trace.args[trace.host[host].args].types);
  };
  const auto left = [&](std::uint32_t host) { return left_factor(trace, host); };
  const Json first = dims(product), weights = dims(softmax), second = dims(last);
  const auto q = tensor(first, left(product)), k = tensor(first, left(product) + 1);
  const auto p = tensor(weights, 0);
  const auto w = tensor(second, left(last)), v = tensor(second, left(last) + 1);
  if (!q || !k || !p || !w || !v) return std::nullopt;
  const std::size_t rank = q->size();
  if (rank < 3 || rank > 4 || k->size() != rank || w->size() != rank || v->size() != rank ||
      p->size() < 3) {
    return std::nullopt;
  }
  const std::int64_t rows = (*q)[rank - 2], depth = (*q)[rank - 1], keys = (*k)[rank - 1];
  std::int64_t matrices = 1;
  for (std::size_t i = 0; i + 2 < rank; ++i) matrices *= (*q)[i];
  const double scores =
      static_cast<double>(matrices) * static_cast<double>(rows) * static_cast<double>(keys);
  const bool fits = (*k)[rank - 2] == depth && numel(*p) == scores && p->back() == keys &&
                    numel(*w) == scores && w->back() == keys && (*v)[rank - 2] == keys;
  if (!fits) return std::nullopt;
  AttentionSizes sizes;
  sizes.B = rank == 4 ? (*q)[0] : 1;
  sizes.H_Q = sizes.H_KV = rank == 4 ? (*q)[1] : (*q)[0];
  sizes.N_Q = rows;
  sizes.N_KV = keys;
  sizes.d_qk = depth;
  sizes.d_v = v->back();
  sizes.causal = false;  // unfused attention computes every product, masked or not
  const RecordedArgs of_product{{}, types(product), {}};
  sizes.dtype = dtype_word(of_product.type(static_cast<int>(left(product))));
  return sizes;
}

bool softmax_of_product(const Trace& trace, std::uint32_t product, std::uint32_t softmax) {
  const auto keys = tensor(dims_of(trace, product), left_factor(trace, product) + 1);
  const auto weights = tensor(dims_of(trace, softmax), 0);
  return keys && weights && !keys->empty() && !weights->empty() && keys->back() == weights->back();
}

bool softmax_in_product(const Trace& trace, std::uint32_t softmax, std::uint32_t product) {
  const auto weights = tensor(dims_of(trace, softmax), 0);
  const auto left = tensor(dims_of(trace, product), left_factor(trace, product));
  return weights && left && !weights->empty() && !left->empty() &&
         weights->back() == left->back() && numel(*weights) == numel(*left);
}

std::optional<ServingStep> serving_step(std::string_view annotation) {
  if (!annotation.starts_with("execute_")) return std::nullopt;
  ServingStep step;
  std::string_view context, generation;
  if (!read_phase(annotation, "context_", step.context_requests, context) ||
      !read_phase(annotation, "generation_", step.generation_requests, generation)) {
    return std::nullopt;
  }
  std::array<double, 4> ctx{}, gen{};
  step.pairs_known = read_tokens(context, ctx) && read_tokens(generation, gen);
  if (!step.pairs_known && (!read_count(context, ctx[0]) || !read_count(generation, gen[0]))) {
    return std::nullopt;
  }
  std::tie(step.ctx_q, step.gen_q) = std::pair(ctx[0], gen[0]);
  if (step.pairs_known) {
    std::tie(step.ctx_k, step.ctx_qq, step.ctx_qk) = std::tuple(ctx[1], ctx[2], ctx[3]);
    std::tie(step.gen_k, step.gen_qq, step.gen_qk) = std::tuple(gen[1], gen[2], gen[3]);
    if (!can_be(step)) return std::nullopt;
  }
  return step;
}

std::optional<ServingStep> serving_step_of(const Trace& trace, const SdpaCall& call) {
  for (std::uint32_t at = trace.host[call.host].parent; at != k_none; at = trace.host[at].parent) {
    if (trace.host[at].kind != HostKind::annotation) continue;
    if (auto step = serving_step(trace.text(trace.host[at].name))) return step;
  }
  return std::nullopt;
}

// The performance model: FLOPs of the two products (without the softmax) and the least bytes that
// must move. The formulas are those of TraceLens' perf model (MIT), so that the two tools' figures
// are comparable; docs/guide/trace.md lists them with their limits.

namespace {

double product(std::initializer_list<std::int64_t> factors) {
  double value = 1;
  for (const std::int64_t factor : factors) value *= static_cast<double>(factor);
  return value;
}

/// The work of a serving step: prefill q·k less the causal half of q², decode q·k.
CallWork serving_work(const AttentionSizes& s, const ServingStep& step) {
  const auto heads_q = static_cast<double>(s.H_Q), heads_kv = static_cast<double>(s.H_KV);
  const auto depth = static_cast<double>(s.d_qk + s.d_v);
  CallWork work;
  work.flops = heads_q * depth * (2 * step.ctx_qk - step.ctx_qq + 2 * step.gen_qk);
  if (const auto size = dtype_bytes(s.dtype)) {
    const double queries = step.ctx_q + step.gen_q;
    const double cached = (step.ctx_k - step.ctx_q) + (step.gen_k - step.gen_q);
    work.bytes = *size * depth * (queries * (heads_q + heads_kv) + cached * heads_kv);
  }
  return work;
}

/// The share of all query-key pairs that causal attention computes: one half for both corners if
/// the numbers of queries and keys are equal.
double causal_part(const AttentionSizes& s) {
  const auto n_q = static_cast<double>(s.N_Q), n_kv = static_cast<double>(s.N_KV);
  const bool long_side_counts = s.bottom_right.value_or(true) == (n_q <= n_kv);
  const double shorter = std::min(n_q, n_kv);
  const double pairs =
      long_side_counts ? n_q * n_kv - shorter * shorter / 2 : shorter * shorter / 2;
  return pairs / (n_q * n_kv);
}

CallWork dense_work(const OpRule& rule, const AttentionSizes& s) {
  const double queries = product({s.B, s.N_Q, s.H_Q}), keys = product({s.B, s.N_KV, s.H_KV});
  const double pairs = product({s.B, s.H_Q, s.N_Q, s.N_KV});
  const auto qk = static_cast<double>(s.d_qk), v = static_cast<double>(s.d_v);
  CallWork work;
  double elements = queries * (qk + v) + keys * (qk + v);
  if (rule.backward) {
    // The products dV, dP, dQ and dK; a fused kernel also computes the scores again.
    const bool again = rule.attention == Attention::flash;
    work.flops = 2 * pairs * (2 * v + 2 * qk + (again ? qk : 0));
    const double groups = static_cast<double>(s.H_Q) / static_cast<double>(s.H_KV);
    work.flops += product({s.B, s.N_KV}) * (v + qk) * (groups - 1);
    elements += queries * qk + keys * (qk + v);
  } else {
    work.flops = 2 * pairs * (qk + v);
  }
  if (s.causal.value_or(false)) work.flops *= causal_part(s);
  if (!s.bytes_known) return work;
  if (s.tensor_bytes > 0) {
    work.bytes = s.tensor_bytes;
  } else if (const auto size = dtype_bytes(s.dtype)) {
    work.bytes = *size * elements;
  }
  return work;
}

}  // namespace

WorkOrWhy work_of(const OpRule& rule, const AttentionSizes& sizes,
                  const std::optional<ServingStep>& step) {
  if (sizes.H_KV < 1 || sizes.H_Q % sizes.H_KV != 0) {
    return {{}, "the query heads are no multiple of the key heads"};
  }
  // A list of chosen keys gives their number, also in pages.
  if (rule.attention == Attention::paged && !sizes.chosen) {
    if (!step) return {{}, "the lengths of the sequences are not recorded (no annotation)"};
    if (!step->pairs_known) {
      return {{}, "the annotation has token counts but no key lengths (an older server)"};
    }
    return {serving_work(sizes, *step), {}};
  }
  if (!sizes.lengths_known) {
    return {{}, "packed sequences: their lengths are not recorded"};
  }
  if (!sizes.causal) return {{}, "whether it is causal is not recorded"};
  if (sizes.windowed) return {{}, "a sliding window: what it leaves of the keys is not modelled"};
  if (*sizes.causal && sizes.N_Q != sizes.N_KV && !sizes.bottom_right) {
    return {{}, "causal with as many queries as keys only: the mask's corner is not recorded"};
  }
  return {dense_work(rule, sizes), {}};
}

}  // namespace wb::trace
