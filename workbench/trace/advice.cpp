// SPDX-License-Identifier: MIT
#include "trace/advice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "core/json.hpp"
#include "trace/findings_tables.hpp"
#include "trace/metrics_row.hpp"
#include "trace/suite_maker.hpp"

namespace wb::trace {
namespace {

bool is(const Json& operation, const char* what) {
  return operation["classification"].value(what, false);
}

std::string workload_of(const Json& operation) {
  return operation["classification"]["workload_profile"].value("workload_type", "unknown");
}

std::optional<double> efficiency_of(const Json& operation) {
  const Json& value = operation["efficiency"]["efficiency_percent"];
  return value.is_number() ? std::optional(value.get<double>()) : std::nullopt;
}

std::string share_text(std::optional<double> value) {
  return value ? fmt::format("{:.2f} %", *value) : std::string("not known");
}

/// "`name`, 24 calls, 2.72 ms (100.0 % of the category), 9.12 % of peak, expected 20-40 % (…)".
std::string evidence_of(const Json& operation) {
  std::string text =
      fmt::format("{}, {} calls, {:.3f} ms ({:.1f} % of the category), ",
                  markdown::name_cell(operation["name"].get<std::string>()),
                  operation["count"].get<std::int64_t>(), operation["time_ms"].get<double>(),
                  operation["percent_of_category"].get<double>());
  const auto efficiency = efficiency_of(operation);
  const Json most = operation["efficiency"].value("most_efficiency_percent", Json());
  text += efficiency ? share_text(efficiency) + " of peak"
          : most.is_number()
              ? "at most " + share_text(most.get<double>()) + " of peak"
              : "efficiency not known: " +
                    operation["efficiency"].value("why_unknown", std::string("no figure"));
  if (const Json band = operation.value("expected_efficiency", Json()); band.is_object()) {
    text += fmt::format(", expected {:g} to {:g} % ({})", band["low_percent"].get<double>(),
                        band["high_percent"].get<double>(), band["label"].get<std::string>());
  }
  return text;
}

std::string savings(const Json& operation) {
  const auto efficiency = efficiency_of(operation);
  const Json band = operation.value("expected_efficiency", Json());
  if (!efficiency || !band.is_object() || *efficiency >= band["low_percent"].get<double>()) {
    return "not estimated";
  }
  const double time = operation["time_ms"].get<double>();
  const double low = band["low_percent"].get<double>(), high = band["high_percent"].get<double>();
  return fmt::format("{:.3f} to {:.3f} ms of {:.3f} ms, were it within its band (an estimate)",
                     time * (1 - *efficiency / low), time * (1 - *efficiency / high), time);
}

Advice unfused_advice(const Json& operation) {
  return {"Replace unfused attention by a fused kernel",
          evidence_of(operation),
          "Call fused (flash) attention instead of separate products, scaling and softmax; the "
          "scores then never reach memory.",
          "Until then, tune the single kernels (products, softmax, copies): 10 to 30 % at most.",
          "3 to 10 times less attention time is usual (a rule of experience, not measured here)",
          operation["time_ms"].get<double>()};
}

Advice flash_advice(const Json& operation) {
  const std::int64_t n_q =
      operation["classification"]["workload_profile"]["n_q"].get<std::int64_t>();
  const ReplayOrWhy replay = replay_problem(operation);
  Advice advice{
      "Raise the efficiency of a fused kernel", evidence_of(operation), {}, {}, savings(operation),
      operation["time_ms"].get<double>()};
  advice.algorithmic =
      n_q < 512 ? "Short sequences: put more of them into one call (batching, packing), so that "
                  "the memory overhead is shared."
                : "It is fused already. See whether the mask, the head dim or the batch leave work "
                  "that need not be done (causal halves, grouped heads, larger batches).";
  advice.kernel =
      replay.problem.empty()
          ? fmt::format("Replay the call alone and tune its tiles; the workbench cannot: {}.",
                        replay.why)
          : fmt::format(
                "Replay it: `sdpa-wb measure KERNEL --problem '{}'`, or make a suite with "
                "`sdpa-wb trace suite` and open a session on it.",
                replay.problem);
  return advice;
}

Advice paged_advice(const Json& operation, const Json& metrics) {
  const std::string workload = workload_of(operation);
  const Json shares = metrics["category_specific"].value("kernel_breakdown_avg", Json::object());
  Advice advice{"", evidence_of(operation), {},
                {}, savings(operation),     operation["time_ms"].get<double>()};
  if (workload == "decode_heavy") {
    advice.title = "Decode-heavy paged attention";
    advice.algorithmic =
        "Decode larger batches at once (2 to 3 times the throughput is usual where efficiency is "
        "below 5 %); for latency, speculative decoding.";
    advice.kernel =
        "Below 10 % of peak: look at the page-table look-up and memory accesses of "
        "`kernel_paged_attention_2d` (or of the unified kernel).";
  } else if (workload == "prefill_heavy") {
    advice.title = "Prefill-heavy paged attention";
    advice.algorithmic = "Chunk long prefills; where memory is short, lower `max_model_len`.";
    advice.kernel =
        "Below 30 % of peak: tune the tiles of the prefill kernel (`_fwd_kernel` or "
        "the unified kernel) and its handling of grouped heads.";
  } else if (workload != "mixed") {
    advice.title = "Paged attention of a workload that is not known";
    advice.algorithmic =
        "Record the server's annotations of its steps: they tell prefill from decode, and how long "
        "the sequences are.";
    advice.kernel = "Look first at the kernel with the largest share below.";
  } else {
    advice.title = "Mixed paged attention";
    advice.algorithmic = "Balance `max_num_batched_tokens` between prefill chunks and decoding.";
    advice.kernel = "Look first at the kernel with the largest share below.";
  }
  advice.evidence += workload == "unknown" ? "; neither prefill nor decode is recorded"
                                           : fmt::format("; {}", workload);
  return advice;
}

std::optional<double> share(const Json& metrics, const char* key) {
  const Json& specific = metrics["category_specific"];
  const Json shares = specific.value("kernel_breakdown_avg", Json());
  if (!shares.is_object() || !shares.value(key, Json()).is_number()) return std::nullopt;
  return shares[key].get<double>();
}

Advice cache_advice(const Json& metrics, double cache_percent) {
  double paged_ms = 0;
  for (const Json& operation : metrics["operations"]) {
    if (is(operation, "is_paged_attention")) paged_ms += operation["time_ms"].get<double>();
  }
  return {"KV-cache updates take much of paged attention",
          fmt::format("`reshape_and_cache` {:.2f} % of the kernels' time; 3 to 5 % is usual",
                      cache_percent),
          "Try KV-cache block sizes of 16, 32 and 64.",
          "Look at the memory accesses of the reshape kernel (coalescing).",
          "not estimated",
          paged_ms * cache_percent / 100};
}

/// The least efficient paged operation of a workload (empty: any).
std::optional<double> least_efficiency(const Json& metrics, std::string_view workload) {
  std::optional<double> least;
  for (const Json& operation : metrics["operations"]) {
    if (!is(operation, "is_paged_attention") || is(operation, "is_kv_cache_update")) continue;
    if (!workload.empty() && workload_of(operation) != workload) continue;
    const auto efficiency = efficiency_of(operation);
    if (efficiency && (!least || *efficiency < *least)) least = efficiency;
  }
  return least;
}

std::string profile_type(const Json& metrics) {
  const Json profile = metrics["category_specific"].value("workload_profile", Json::object());
  return profile.value("profile_type", "unknown");
}

std::int64_t longest_context(const Json& metrics) {
  std::int64_t longest = 0;
  for (const Json& operation : metrics["operations"]) {
    const Json& params = operation["perf_params_parsed"];
    const std::int64_t requests = integer_member(params, "ctx_requests");
    const std::int64_t keys = integer_member(params, "c_sk");
    if (requests > 0) longest = std::max(longest, keys / requests);
  }
  return longest;
}

/// A short form; the page's end has the full sentence of "without_model".
std::string why_without_sizes(const Json& operation) {
  const OpRule rule = rule_of(operation["name"].get<std::string>()).value_or(OpRule{});
  if (rule.backward) return "it is backward attention, and its sizes are not recorded";
  return "its sizes are not recorded, or not read (see what is not known)";
}

std::string answer(std::optional<bool> holds, const std::string& figure) {
  return (!holds ? "not known: " : *holds ? "yes: " : "no: ") + figure;
}

}  // namespace

ReplayOrWhy replay_problem(const Json& operation) {
  const Json& params = operation["perf_params_parsed"];
  if (!params.is_object() || params.empty()) return {{}, why_without_sizes(operation)};
  const Json& spec = operation["efficiency"]["resolved_peak_spec"];
  AttentionSizes sizes;
  sizes.B = integer_member(params, "B");
  sizes.N_Q = integer_member(params, "N_Q");
  sizes.H_Q = integer_member(params, "H_Q");
  sizes.N_KV = integer_member(params, "N_KV");
  sizes.H_KV = integer_member(params, "H_KV");
  sizes.d_qk = integer_member(params, "d_h_qk");
  sizes.d_v = integer_member(params, "d_h_v");
  // A dropout that is not a share becomes null.
  sizes.dropout = params.value("dropout", Json(0)).is_number()
                      ? real_member(params, "dropout")
                      : std::numeric_limits<double>::quiet_NaN();
  sizes.masked = params.value("masked", Json()) == Json(true);
  if (params.value("causal", Json()).is_boolean()) sizes.causal = params["causal"].get<bool>();
  if (params.value("dtype", Json()).is_string()) {
    sizes.dtype = params["dtype"].get<std::string>();
  } else if (spec.is_string()) {
    const std::string word = spec.get<std::string>();
    sizes.dtype = word.substr(word.find('_') + 1);
  }
  OpRule rule = rule_of(operation["name"].get<std::string>()).value_or(OpRule{});
  if (is(operation, "is_paged_attention")) rule.attention = Attention::paged;
  sizes.windowed = params.value("windowed", Json()) == Json(true);
  sizes.chosen = params.value("chosen", Json()) == Json(true);
  if (params.value("bottom_right", Json()).is_boolean()) {
    sizes.bottom_right = params["bottom_right"].get<bool>();
  }
  sizes.lengths_known =
      params.value("lengths_known", Json(rule.sizes != Sizes::packed)) == Json(true);
  const ProblemOrWhy result = problem_of(rule, sizes);
  return result.problem ? ReplayOrWhy{problem::to_text(*result.problem), {}}
                        : ReplayOrWhy{{}, result.why};
}

std::vector<Advice> advice_for(const Json& metrics) {
  std::vector<Advice> list;
  for (const Json& operation : metrics["operations"]) {
    if (is(operation, "is_kv_cache_update")) continue;
    const bool low = operation["below_expected"] == Json(true);
    const bool matters = operation["is_large"].get<bool>();
    const bool bottleneck = operation["is_bottleneck"].get<bool>();
    const bool paged = is(operation, "is_paged_attention");
    if (!paged && !is(operation, "is_flash_attention")) {
      if (matters) list.push_back(unfused_advice(operation));
    } else if (!paged && (low || bottleneck) && matters) {
      list.push_back(flash_advice(operation));
    } else if (paged && matters) {
      list.push_back(paged_advice(operation, metrics));
    }
  }
  const auto cache = share(metrics, "avg_reshape_cache_percent");
  if (cache && *cache > 10) list.push_back(cache_advice(metrics, *cache));
  std::stable_sort(list.begin(), list.end(),
                   [](const Advice& a, const Advice& b) { return a.time_ms > b.time_ms; });
  return list;
}

std::vector<PagedRule> algorithmic_rules(const Json& metrics) {
  const auto decode = least_efficiency(metrics, "decode_heavy");
  const bool has_decode = decode.has_value();
  const std::int64_t context = longest_context(metrics);
  return {{"Low decode efficiency", "below 5 % of peak", "decode larger batches",
           has_decode ? answer(*decode < 5, share_text(decode))
                      : "not known: no decode-heavy operation with a figure"},
          {"Slow long prefills", "long contexts", "chunked prefill",
           context > 0 ? answer(context > 4096,
                                fmt::format("{} keys a request at most on average", context))
                       : "not known: no lengths recorded"},
          {"Short of memory", "the server's logs", "`max_model_len`, a quantized KV cache",
           "not known: a profile does not show it"},
          {"Latency of a single request", "few requests at once", "speculative decoding",
           "not known: a profile does not show the aim"}};
}

std::vector<PagedRule> kernel_rules(const Json& metrics) {
  const auto paged = share(metrics, "avg_paged_attention_percent");
  const auto cache = share(metrics, "avg_reshape_cache_percent");
  const auto unknown = share(metrics, "avg_unknown_role_percent");
  // Kernels without a known role may have the role in question: then only the known share decides.
  const bool all_known = !unknown || !(*unknown > 0);
  const auto any = least_efficiency(metrics, "");
  const bool prefill = profile_type(metrics) == "prefill_heavy";
  const auto prefill_efficiency = least_efficiency(metrics, "prefill_heavy");
  std::optional<bool> decode_holds, prefill_holds, cache_holds;
  if (paged && *paged + unknown.value_or(0) <= 70) decode_holds = false;
  if (paged && *paged > 70 && any) decode_holds = *any < 10;
  if (!prefill) prefill_holds = false;
  if (prefill && prefill_efficiency) prefill_holds = *prefill_efficiency < 30;
  if (cache) cache_holds = *cache > 10;
  return {{"`kernel_paged_attention_2d`", "above 70 % of the time and below 10 % of peak",
           "look at the page-table look-up and memory accesses",
           answer(decode_holds,
                  fmt::format("{} of the time, {} of peak",
                              all_known ? share_text(paged) : share_text(paged) + " or more",
                              share_text(any)))},
          {"`_fwd_kernel`", "prefill-heavy and below 30 % of peak",
           "tune the tiles, look at grouped heads",
           answer(prefill_holds, fmt::format("{}, {} of peak", profile_type(metrics),
                                             share_text(prefill_efficiency)))},
          {"`reshape_and_cache`", "above 10 % of the time",
           "look at the cache's block size and coalescing",
           answer(cache_holds, share_text(cache) + " of the time")}};
}

std::vector<PagedRule> configuration_rules(const Json& metrics) {
  const auto cache = share(metrics, "avg_reshape_cache_percent");
  const std::int64_t context = longest_context(metrics);
  return {{"`block_size`", "efficiency of the KV cache", "try 16, 32, 64",
           answer(cache ? std::optional(*cache > 10) : std::nullopt,
                  fmt::format("cache updates take {} of the time", share_text(cache)))},
          {"`max_num_batched_tokens`", "how prefills are chunked", "weigh latency and throughput",
           "not known: the setting is not in a profile; " + profile_type(metrics)},
          {"`enable_chunked_prefill`", "contexts above 4K", "turn it on",
           context > 0 ? answer(context > 4096,
                                fmt::format("{} keys a request at most on average", context))
                       : "not known: no lengths recorded"},
          {"`speculative_model`", "decoding where latency counts", "use one",
           "not known: a profile does not show the aim"}};
}

}  // namespace wb::trace
