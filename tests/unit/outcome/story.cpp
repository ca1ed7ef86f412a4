// SPDX-License-Identifier: MIT
#include "unit/outcome/story.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace wb::test {

using session::Fact;
using session::IterationView;
using session::SessionView;

Story::Story(const std::string& start, const std::string& rule) {
  const auto problem = [](const char* text, const char* name) {
    return Json{{"problem", text}, {"name", name}, {"weight", 1.0}, {"held_out", false}};
  };
  m_view.opened = fact(
      {{"session", "story"},
       {"start_variant", start.substr(0, start.find('@'))},
       {"rivals", {"torch_a", "torch_b"}},
       {"objective", {{"rule", rule}, {"plan", "hot"}, {"regime", "burst"}}},
       {"suite",
        {{"name", "two"}, {"problems", {problem(k_small, "small"), problem(k_large, "large")}}}}});
  m_view.iterations.emplace_back();
  m_view.iterations.back().opened =
      fact({{"iteration", 0}, {"variant", start}, {"hypothesis", nullptr}});
}

Fact Story::fact(Json payload) {
  return Fact{++m_view.events, "2026-11-20T18:00:00.000Z", std::move(payload)};
}

IterationView& Story::part(std::optional<std::int64_t> iteration) {
  if (!iteration) return m_view.outside;
  return *std::find_if(m_view.iterations.begin(), m_view.iterations.end(),
                       [&](const IterationView& it) { return it.number == *iteration; });
}

Story& Story::hold_out(const std::string& problem) {
  for (Json& item : m_view.opened.payload["suite"]["problems"]) {
    if (item["problem"] == problem) item["held_out"] = true;
  }
  return *this;
}

Story& Story::baseline() {
  IterationView& first = m_view.iterations.front();
  const auto start = first.opened.payload["variant"].get<std::string>();
  first.built.push_back(fact({{"subject", start}, {"outcome", "built"}}));
  first.incumbent_changed = fact({{"iteration", 0}, {"from", nullptr}, {"to", start}});
  first.closed = fact({{"iteration", 0}, {"outcome", "baseline"}});
  m_view.incumbent = start;
  return *this;
}

Story& Story::iteration(std::int64_t number, const std::string& label, const std::string& outcome) {
  IterationView made;
  made.number = number;
  made.opened = fact({{"iteration", number},
                      {"variant", label},
                      {"hypothesis", {{"theory", "t"}, {"predicted_speedup", 1.1}}}});
  made.built.push_back(fact({{"iteration", number}, {"subject", label}, {"outcome", "built"}}));
  if (outcome == "win") {
    made.incumbent_changed = fact({{"iteration", number}, {"to", label}});
    m_view.incumbent = label;
  }
  if (outcome != "open") made.closed = fact({{"iteration", number}, {"outcome", outcome}});
  m_view.iterations.push_back(std::move(made));
  return *this;
}

std::int64_t Story::add(std::optional<std::int64_t> iteration, const Beside& beside) {
  const double speedup = beside.speedup;
  const std::string by_speedup = speedup > 1.01 ? "faster" : speedup < 0.99 ? "slower" : "same";
  Json interval{
      {"low", speedup / beside.spread}, {"high", speedup * beside.spread}, {"confidence", 0.99}};
  if (beside.spread == 0) interval = {{"low", nullptr}, {"high", nullptr}, {"confidence", 0.99}};
  Json payload{{"iteration", iteration ? Json(*iteration) : Json(nullptr)},
               {"phase", beside.phase},
               {"plan", "hot"},
               {"role", beside.role},
               {"problem", beside.problem.empty() ? Json(nullptr) : Json(beside.problem)},
               {"candidate", beside.candidate},
               {"against", beside.against},
               {"speedup", beside.spread == 0 ? Json(nullptr) : Json(speedup)},
               {"interval", interval},
               {"noise_floor_frac", 0.001},
               {"outcome", beside.outcome.empty() ? by_speedup : beside.outcome},
               {"candidate_us", 100.0},
               {"against_us", 100.0 * speedup}};
  if (!beside.regime.empty()) payload["regime"] = beside.regime;
  part(iteration).comparisons.push_back(fact(std::move(payload)));
  return m_view.events;
}

Story& Story::judge(std::optional<std::int64_t> iteration, const std::string& subject,
                    const std::string& problem, const std::string& outcome,
                    const std::string& proof) {
  part(iteration).verdicts.emplace_back(fact({{"subject", subject},
                                              {"problem", problem},
                                              {"pass", outcome == "pass"},
                                              {"outcome", outcome},
                                              {"proof", proof}}));
  return *this;
}

Story& Story::close() {
  m_view.status = session::SessionStatus::closed;
  m_view.closed = fact({{"reason", "done"}});
  return *this;
}

SessionView Story::view() const {
  Story whole = *this;
  std::set<std::pair<std::string, std::string>> judged, named;
  const auto collect = [&](const IterationView& it) {
    for (const session::VerdictFact& verdict : it.verdicts) {
      judged.emplace(verdict.payload["subject"].get<std::string>(),
                     verdict.payload["problem"].get<std::string>());
    }
    for (const Fact& made : it.comparisons) {
      if (made.payload["problem"].is_null()) continue;
      const auto problem = made.payload["problem"].get<std::string>();
      named.emplace(made.payload["candidate"].get<std::string>(), problem);
      named.emplace(made.payload["against"].get<std::string>(), problem);
    }
  };
  collect(m_view.outside);
  for (const IterationView& it : m_view.iterations) collect(it);
  for (const auto& pair : named) {
    if (!judged.contains(pair)) whole.judge(std::nullopt, pair.first, pair.second);
  }
  return whole.m_view;
}

}  // namespace wb::test
