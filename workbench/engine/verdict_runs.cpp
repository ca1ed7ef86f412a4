// SPDX-License-Identifier: MIT
#include "engine/verdict_runs.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/json.hpp"
#include "engine/context.hpp"

namespace wb::engine {

using runner::WorkerClient;
using variant::EdgeDraw;

namespace {

constexpr std::size_t k_at_once = 24;

/// A drawn run in the log: like any run, with its problem and form.
Json drawn_json(const EdgeDraw& drawn, const protocol::RunResult& run) {
  Json json = run_json(drawn.draw, run);
  if (run.verdict.pass) {
    json["worst"] = {{"rule", run.verdict.worst.rule}, {"share", run.verdict.worst.share}};
  }
  json["problem"] = to_text(drawn.problem);
  json["form"] = to_json(drawn.form);
  return json;
}

std::string how(const EdgeDraw& drawn) {
  std::string words = fmt::format("in a drawn run (draw {}", to_string(drawn.draw));
  const std::string form = to_text(drawn.form);
  return words + (form.empty() ? "" : "; ") + form + ")";
}

}  // namespace

Json run_json(problem::Draw draw, const protocol::RunResult& run) {
  const problem::BudgetUse& worst = run.verdict.worst;
  return {{"draw", to_string(draw)},
          {"seed", run.seed},
          {"pass", run.verdict.pass},
          {"reason", run.verdict.reason},
          {"worst",
           {{"rule", worst.rule},
            {"error", worst.error},
            {"budget", worst.budget},
            {"share", worst.share},
            {"row", worst.row},
            {"column", worst.column},
            {"b", worst.block.b},
            {"h", worst.block.h},
            {"got", worst.got},
            {"want", worst.want}}},
          {"blocks_judged", run.verdict.blocks_judged},
          {"blocks_total", run.verdict.blocks_total},
          {"lse_judged", run.lse_judged}};
}

DrawnRuns::DrawnRuns(Context& context, const Subject& subject, const std::vector<EdgeDraw>& drawn,
                     VerdictExtent extent)
    : m_context(context), m_subject(subject), m_drawn(drawn), m_extent(extent) {
  m_judgement.drawn = drawn.size();
  m_judgement.problem = drawn.front().problem;
  m_judgement.worst_share = -1;
}

Result<Judgement> DrawnRuns::judge(WorkerClient& worker, std::int64_t handle) {
  for (std::size_t at = 0; at < m_drawn.size() && !m_judgement.invalidity;) {
    WB_TRY(m_context.check_stop());
    m_context.report_progress({.stage = "verdict",
                               .what = m_subject.label + " on drawn runs",
                               .done = static_cast<std::int64_t>(at),
                               .total = static_cast<std::int64_t>(m_drawn.size())});
    const std::size_t end = std::min(at + k_at_once, m_drawn.size());
    at = read(worker.verdict(request(handle, at, end)), at);
  }
  if (m_judgement.worst_share < 0) m_judgement.worst_share = 0;
  return m_judgement;
}

protocol::VerdictArgs DrawnRuns::request(std::int64_t handle, std::size_t begin,
                                         std::size_t end) const {
  protocol::VerdictArgs args;
  args.handle = handle;
  args.problem = m_drawn[begin].problem;
  for (std::size_t i = begin; i < end; ++i) {
    protocol::RunArgs& run = args.drawn.emplace_back();
    run.handle = handle;
    run.problem = m_drawn[i].problem;
    run.draw = m_drawn[i].draw;
    run.want_lse = m_drawn[i].want_lse;
    run.form = m_drawn[i].form;
    if (m_extent == VerdictExtent::screening) run.max_blocks = k_screening_blocks;
  }
  return args;
}

std::size_t DrawnRuns::read(const Outcome<protocol::VerdictResult>& verdict, std::size_t at) {
  if (!verdict.ok()) {
    fail(at, verdict.error());
    return at;
  }
  for (const auto& [draw, run] : verdict->runs) {
    if (at >= m_drawn.size()) break;
    m_runs.push_back(drawn_json(m_drawn[at], run));
    const double share = run.verdict.worst.share;
    if (!(share <= m_judgement.worst_share)) {
      m_judgement.worst_share = share;
      m_judgement.problem = m_drawn[at].problem;
    }
    if (!run.verdict.pass) {
      fail(at, {Invalidity::correctness, run.verdict.reason, ""});
      return at;
    }
    ++at;
  }
  if (!verdict->failure && verdict->runs.empty()) {
    fail(at, {Invalidity::environment, "the worker judged nothing", ""});
    return at;
  }
  if (!verdict->failure || at >= m_drawn.size()) return at;
  // A library learns only when called what it supports.
  const bool is_refusal = verdict->failure->invalidity == Invalidity::constraints;
  if (is_refusal && m_subject.variant.manifest.backend == variant::Backend::python) return at + 1;
  fail(at, *verdict->failure);
  return at;
}

void DrawnRuns::fail(std::size_t at, const Failure& failure) {
  m_judgement.problem = m_drawn[at].problem;
  m_judgement.invalidity = failure.invalidity;
  m_judgement.message = failure.message + " " + how(m_drawn[at]);
  m_judgement.output = failure.untrusted_output;
}

}  // namespace wb::engine
