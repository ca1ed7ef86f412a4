// SPDX-License-Identifier: MIT
#include "trace/suite_maker.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/json.hpp"
#include "trace/prepare.hpp"
#include "trace/trace.hpp"

namespace wb::trace {

using problem::Causal;

ProblemOrWhy problem_of(const OpRule& rule, const AttentionSizes& sizes) {
  if (rule.backward) return {{}, "backward attention is no problem of the workbench yet"};
  if (sizes.chosen) return {{}, "chosen keys for each query are no problem of the workbench yet"};
  if (rule.attention == Attention::paged) {
    return {{}, "attention over pages is no problem of the workbench yet"};
  }
  if (!sizes.lengths_known) return {{}, "the lengths of packed sequences are not recorded"};
  if (sizes.windowed) return {{}, "a sliding window is no problem of the workbench yet"};
  if (sizes.masked) return {{}, "it had a mask, which is no problem of the workbench yet"};
  if (!(sizes.dropout == 0)) return {{}, "dropout is no problem of the workbench yet"};
  if (!sizes.causal) return {{}, "whether it is causal is not recorded"};
  problem::Problem problem;
  if (sizes.dtype == "bf16") {
    problem.dtype = Dtype::bf16;
  } else if (sizes.dtype == "fp16") {
    problem.dtype = Dtype::f16;
  } else if (sizes.dtype == "fp32") {
    problem.dtype = Dtype::f32;
  } else {
    return {{}, "a dtype that the workbench lacks"};
  }
  if (*sizes.causal && sizes.N_Q != sizes.N_KV && !sizes.bottom_right) {
    return {{}, "causal with N_Q != N_KV: the mask's corner is not recorded"};
  }
  problem.B = sizes.B;
  problem.Hq = sizes.H_Q;
  problem.Hkv = sizes.H_KV;
  problem.Sq = sizes.N_Q;
  problem.Skv = sizes.N_KV;
  problem.D = sizes.d_qk;
  problem.Dv = sizes.d_v;
  // With equal numbers of queries and keys, both corners are the same.
  const bool bottom_right = sizes.bottom_right.value_or(false) && sizes.N_Q != sizes.N_KV;
  problem.causal = !*sizes.causal ? Causal::none
                   : bottom_right ? Causal::bottom_right
                                  : Causal::top_left;
  const bool tokens_first =
      rule.sizes == Sizes::bnhd || rule.sizes == Sizes::packed || rule.sizes == Sizes::single;
  if (tokens_first) problem.layout = problem::Layout::bshd;
  const auto good = problem::validate(problem);
  if (!good) return {{}, good.error().cause};
  return {problem, {}};
}

namespace {

constexpr int k_suite_version = 3;  // the first with share_frac

std::string name_of(const problem::Problem& p) {
  std::string name = fmt::format("B{}_H{}", p.B, p.Hq);
  if (p.Hkv != p.Hq) name += fmt::format("kv{}", p.Hkv);
  name += p.Sq == p.Skv ? fmt::format("_S{}", p.Sq) : fmt::format("_S{}x{}", p.Sq, p.Skv);
  name += p.D == p.Dv ? fmt::format("_D{}", p.D) : fmt::format("_D{}v{}", p.D, p.Dv);
  name += fmt::format("_{}", to_string(p.dtype));
  if (p.causal != problem::Causal::none) name += "_causal";
  return p.layout == problem::Layout::bhsd ? name : name + "_bshd";
}

/// Why there is no suite: what the profile has instead of forward attention that can be measured
/// again.
std::string why_no_suite(const Trace& trace, const SdpaCalls& calls, const MadeSuite& made) {
  if (!made.left_out.empty()) {
    const MadeSuite::LeftOut& first = made.left_out.front();
    std::string text = fmt::format(
        "none of its attention can be a problem: {} ({} {}, {} {}, {:.3f} ms): {}",
        printable(first.name), first.calls, first.calls == 1 ? "call" : "calls", first.kernels,
        first.kernels == 1 ? "kernel" : "kernels", first.kernel_ms, first.why);
    if (made.left_out.size() > 1) {
      text += fmt::format("; {} more rows for their own reasons", made.left_out.size() - 1);
    }
    return text;
  }
  if (std::string nothing = why_nothing_seen(trace); !nothing.empty()) {
    return "nothing could be looked at: " + nothing;
  }
  std::string text = "it has no forward attention that is known here";
  for (const std::string& gap : gap_sentences(trace, calls)) {
    if (gap.find("attention") != std::string::npos) text += "; " + gap;
  }
  return text;
}

}  // namespace

Result<MadeSuite> make_suite(const fs::path& path, std::string name) {
  WB_TRY_ASSIGN(Trace trace, read_trace(path));
  link_trace(trace);
  WB_TRY(check_ranks(trace));
  const SdpaCalls calls = find_sdpa_calls(trace);
  MadeSuite made;
  made.gpu_span_ms = gpu_time(trace).total_ms;
  made.suite.name = std::move(name);
  made.suite.about = fmt::format(
      "forward attention of {}: weights are calls, share_frac is of its GPU span of {:.3f} ms; use "
      "the objective weighted_time",
      path.filename().string(), made.gpu_span_ms);
  for (const OpRow& row : rows_of(trace, calls)) {
    const double share =
        made.gpu_span_ms > 0 ? row.kernel_us.sum / k_us_per_ms / made.gpu_span_ms : 0;
    const auto count = static_cast<double>(row.calls.size());
    const SdpaCall& first = calls.calls[row.calls.front()];
    ProblemOrWhy found{{}, row.why_no_model};
    if (row.sizes) found = problem_of(first.rule, *row.sizes);
    if (!found.problem || !(share > 0)) {
      std::uint64_t kernels = 0;
      for (const std::size_t call : row.calls) kernels += calls.calls[call].kernels.size();
      made.left_out.push_back({row.name, found.problem ? "it takes no time" : found.why, share,
                               row.calls.size(), kernels, row.kernel_us.sum / k_us_per_ms});
      continue;
    }
    problem::Problem problem = *found.problem;
    problem.name = name_of(problem);
    auto& list = made.suite.problems;
    const auto same =
        std::find_if(list.begin(), list.end(),
                     [&](const problem::SuiteProblem& entry) { return entry.problem == problem; });
    if (same == list.end()) {
      // Concurrent kernels can add up to more than the whole time.
      list.push_back({problem, count, false, std::min(share, 1.0)});
    } else {
      same->weight += count;
      same->share_frac = std::min(*same->share_frac + share, 1.0);
    }
  }
  if (!made.suite.problems.empty()) return made;
  return Error{
      ErrorCode::invalid, "make a suite from", path.string(), why_no_suite(trace, calls, made), {}};
}

std::string suite_file(const problem::Suite& suite) {
  Json problems = Json::array();
  for (const problem::SuiteProblem& entry : suite.problems) {
    Json json = problem::to_json(entry.problem);
    json["name"] = entry.problem.name;
    json["weight"] = entry.weight;
    if (entry.share_frac) json["share_frac"] = *entry.share_frac;
    problems.push_back(std::move(json));
  }
  const Json file{
      {"version", k_suite_version},
      {"suites", {{suite.name, {{"about", suite.about}, {"problems", std::move(problems)}}}}}};
  return file.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace wb::trace
