// SPDX-License-Identifier: MIT
#include "log_builder.hpp"
#include "core/json.hpp"

#include "support/catch.hpp"

namespace wb::test {

using session::CostItem;
using session::Fact;
using session::IterationView;
using session::SessionStatus;

IterationView* LogBuilder::target(const Json& payload) {
  const auto number = payload.find("iteration");
  if (number == payload.end() || !number->is_number_integer()) return nullptr;
  for (IterationView& iteration : m_view.iterations) {
    if (iteration.number == number->get<std::int64_t>()) return &iteration;
  }
  return nullptr;
}

void LogBuilder::close(IterationView& iteration, Fact fact) {
  if (iteration.incumbent_changed && fact.payload["outcome"] != "abandoned") {
    m_view.incumbent = iteration.incumbent_changed->payload["to"];
  }
  iteration.closed = std::move(fact);
}

void LogBuilder::add_to_iteration(const std::string& type, IterationView& iteration, Fact fact) {
  if (type == "variant_built")
    iteration.built.push_back(std::move(fact));
  else if (type == "verdict_given")
    iteration.verdicts.emplace_back(std::move(fact));
  else if (type == "evaluation")
    iteration.evaluations.push_back(std::move(fact));
  else if (type == "comparison_made")
    iteration.comparisons.push_back(std::move(fact));
  else if (type == "finding_recorded")
    iteration.findings.push_back(std::move(fact));
  else if (type == "profile_taken")
    iteration.profiles.push_back(std::move(fact));
  else if (type == "launches_recorded")
    iteration.launches.push_back(std::move(fact));
  else if (type == "cost_debited")
    iteration.costs.push_back(std::move(fact));
  else if (type == "note")
    iteration.notes.push_back(std::move(fact));
  else if (type == "turn_measured")
    iteration.turns.push_back(fact.seq);
  else if (type == "hypothesis_decided")
    iteration.hypothesis = std::move(fact);
  else if (type == "incumbent_changed")
    iteration.incumbent_changed = std::move(fact);
  else if (type == "iteration_closed")
    close(iteration, std::move(fact));
  else if (type == "iteration_committed")
    iteration.committed = std::move(fact);
}

std::int64_t LogBuilder::add(const std::string& type, Json payload) {
  const std::int64_t seq = ++m_view.events;
  m_events.emplace_back(type, payload);
  const std::string t = fmt::format("2026-11-20T18:{:02}:{:02}.000Z", seq / 60 % 60, seq % 60);
  if (m_view.first_t.empty()) m_view.first_t = t;
  const bool was_paused = seq > 1 && m_events[m_events.size() - 2].first == "session_paused";
  if (was_paused || type == "session_resumed") m_view.away.push_back({m_view.last_t, t});
  m_view.last_t = t;
  if (type == "cost_debited") {
    const CostItem item = payload["item"] == "tokens"   ? CostItem::tokens
                          : payload["item"] == "device" ? CostItem::device
                                                        : CostItem::compile_cpu;
    const auto usd =
        payload["usd"].is_number() ? std::optional(payload["usd"].get<double>()) : std::nullopt;
    m_view.ledger.debit(item, payload["quantity"], usd);
    IterationView* iteration = target(payload);
    (iteration != nullptr ? *iteration : m_view.outside)
        .ledger.debit(item, payload["quantity"], usd);
  }
  Fact fact{seq, t, std::move(payload)};
  if (type == "session_opened") {
    m_view.opened = std::move(fact);
  } else if (type == "environment_recorded") {
    m_view.environment = std::move(fact);
  } else if (type == "noise_floor_measured") {
    m_view.noise_floors.push_back(std::move(fact));
  } else if (type == "decision_recorded") {
    m_view.decisions.push_back(std::move(fact));
  } else if (type == "roadmap_made") {
    m_view.roadmap = std::move(fact);
  } else if (type == "causes_decided") {
    m_view.causes = std::move(fact);
  } else if (type == "recovered") {
    m_view.recoveries.push_back(std::move(fact));
  } else if (type == "session_resumed") {
    m_view.resumes.push_back(std::move(fact));
    m_view.status = SessionStatus::open;
  } else if (type == "session_paused") {
    m_view.status = SessionStatus::paused;
  } else if (type == "session_closed") {
    m_view.closed = std::move(fact);
    m_view.status = SessionStatus::closed;
  } else if (type == "iteration_opened") {
    IterationView iteration;
    iteration.number = fact.payload["iteration"];
    iteration.opened = std::move(fact);
    m_view.iterations.push_back(std::move(iteration));
  } else if (IterationView* iteration = target(fact.payload)) {
    add_to_iteration(type, *iteration, std::move(fact));
  } else if (type == "note") {
    m_view.notes.push_back(std::move(fact));
  } else {
    add_to_iteration(type, m_view.outside, std::move(fact));
  }
  return seq;
}

LogBuilder LogBuilder::prefix(std::size_t n) const {
  LogBuilder shorter;
  for (std::size_t i = 0; i < n && i < m_events.size(); ++i) {
    shorter.add(m_events[i].first, m_events[i].second);
  }
  return shorter;
}

bool tells(const std::string& page, const std::string& words) {
  return page.find(words) != std::string::npos;
}

std::string line_with(const std::string& page, const std::string& start) {
  const auto at = page.find(start);
  REQUIRE(at != std::string::npos);
  return page.substr(at, page.find('\n', at) - at);
}

}  // namespace wb::test
