// SPDX-License-Identifier: MIT
#include "trace/model_pattern.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "core/json.hpp"
#include "trace/findings_tables.hpp"
#include "trace/metrics_row.hpp"
#include "trace/trace.hpp"

namespace wb::trace {
namespace {

constexpr std::size_t k_no_operator = 4;

/// Which of the four operators this is, by the names of PyTorch's dispatcher.
std::size_t operator_of(std::string_view name) {
  constexpr std::array<std::string_view, 3> k_softmax{"aten::softmax", "aten::_softmax",
                                                      "aten::_safe_softmax"};
  constexpr std::array<std::string_view, 2> k_products{"aten::bmm", "aten::baddbmm"};
  constexpr std::array<std::string_view, 4> k_scalings{"aten::mul", "aten::mul_", "aten::div",
                                                       "aten::div_"};
  const auto among = [&](const auto& list) {
    return std::find(list.begin(), list.end(), name) != list.end();
  };
  if (among(k_softmax)) return 0;
  if (among(k_products)) return 1;
  if (among(k_scalings)) return 2;
  return name == "aten::copy_" ? 3 : k_no_operator;
}

/// The operator that made the launch: the innermost one around it.
std::uint32_t operator_around(const Trace& trace, std::uint32_t host) {
  while (host != k_none && trace.host[host].kind != HostKind::cpu_op) {
    host = trace.host[host].parent;
  }
  return host;
}

double percent_of(double part, double whole) {
  return whole > 0 ? 100 * part / whole : 0;
}

}  // namespace

ModelPattern model_pattern(const Trace& trace, const SdpaCalls& calls) {
  std::vector<bool> is_attention(trace.gpu.size());
  for (const SdpaCall& call : calls.calls) {
    for (const std::uint32_t i : call.kernels) is_attention[i] = true;
  }
  ModelPattern pattern;
  for (std::size_t i = 0; i < trace.gpu.size(); ++i) {
    const GpuEvent& event = trace.gpu[i];
    if (event.host == k_none || !(event.dur_us > 0)) continue;
    const double ms = event.dur_us / k_us_per_ms;
    pattern.work_ms += ms;
    if (is_attention[i]) pattern.attention_ms += ms;
    const std::uint32_t host = operator_around(trace, event.host);
    const std::size_t place =
        host == k_none ? k_no_operator : operator_of(trace.text(trace.host[host].name));
    if (place == k_no_operator) continue;
    OperatorTime& time = pattern.operators[place];
    time.events += 1;
    (is_attention[i] ? time.inside_ms : time.outside_ms) += ms;
  }
  return pattern;
}

Json to_json(const ModelPattern& pattern) {
  if (!(pattern.work_ms > 0)) return nullptr;
  const double share = percent_of(pattern.attention_ms, pattern.work_ms);
  Json operators = Json::array();
  for (const OperatorTime& time : pattern.operators) {
    operators.push_back({{"operator", time.name},
                         {"events", time.events},
                         {"inside_ms", rounded(time.inside_ms, 3)},
                         {"outside_ms", rounded(time.outside_ms, 3)}});
  }
  return {{"gpu_work_ms", rounded(pattern.work_ms, 3)},
          {"attention_ms", rounded(pattern.attention_ms, 3)},
          {"attention_percent", rounded(share, 2)},
          {"attention_heavy", share >= k_heavy_percent},
          {"operators", std::move(operators)}};
}

std::string model_section(const Json& pattern) {
  std::string text = "## The model as a whole\n\n";
  const double share = real_member(pattern, "attention_percent");
  const bool is_share = has_number(pattern, "attention_percent") && share >= 0 && share <= 100;
  if (!is_share || !(real_member(pattern, "gpu_work_ms") > 0)) {
    return text + "Not recorded in this folder.\n\n";
  }
  text += fmt::format(
      "**Attention-heavy:** {}. Attention is {:.2f} % of the {:.3f} ms of GPU work that operators "
      "of the profile launched (from {:g} % on it is called heavy)",
      share >= k_heavy_percent ? "yes" : "no", share, real_member(pattern, "gpu_work_ms"),
      k_heavy_percent);
  if (share < 100) {
    text += fmt::format("; taking no time at all it would make this work {:.2f} times as fast",
                        100 / (100 - share));
  }
  text += ".\n\n" +
          markdown::head({"Operator", "GPU events", "Inside attention (ms)", "Elsewhere (ms)"});
  const Json operators = pattern.value("operators", Json::array());
  bool loose_softmax = false;
  for (const Json& one : operators.is_array() ? operators : Json::array()) {
    if (!one.is_object()) continue;
    const std::string name = string_member(one, "operator");
    loose_softmax = loose_softmax || (name == "softmax" && real_member(one, "outside_ms") > 0);
    text += markdown::row({markdown::name_cell(name), fmt::to_string(integer_member(one, "events")),
                           markdown::number(one.value("inside_ms", Json()), "{:.3f}"),
                           markdown::number(one.value("outside_ms", Json()), "{:.3f}")});
  }
  text += "\n";
  if (loose_softmax) {
    text +=
        "A softmax runs elsewhere: of a classifier, a router, or of attention that is put together "
        "in a way that is not known here.\n\n";
  }
  return text;
}

}  // namespace wb::trace
