// SPDX-License-Identifier: MIT
#include "session/view.hpp"

#include <algorithm>
#include <utility>

#include "core/json.hpp"
#include "measure/prediction.hpp"
#include "session/fold.hpp"

namespace wb::session {

std::string_view to_string(SessionStatus value) {
  switch (value) {
    case SessionStatus::open:
      return "open";
    case SessionStatus::paused:
      return "paused";
    case SessionStatus::closed:
      return "closed";
  }
  return "unknown";
}

VerdictFact::VerdictFact(Fact whole) : Fact(std::move(whole)) {
  const auto runs = payload.find("runs");
  if (runs == payload.end()) return;
  m_runs = runs->dump();
  payload.erase(runs);
}

Json VerdictFact::runs() const {
  return m_runs.empty() ? Json() : Json::parse(m_runs);
}

Fact VerdictFact::whole() const {
  Fact fact = *this;
  if (!m_runs.empty()) fact.payload["runs"] = runs();
  return fact;
}

std::optional<measure::Prediction> decided_prediction(const IterationView& iteration) {
  if (!iteration.hypothesis) return std::nullopt;
  return measure::prediction_of_event(iteration.hypothesis->payload);
}

const IterationView* SessionView::in_flight() const {
  const auto found = std::find_if(iterations.rbegin(), iterations.rend(),
                                  [](const IterationView& it) { return !it.is_closed(); });
  return found == iterations.rend() ? nullptr : &*found;
}

const IterationView* SessionView::find(std::int64_t number) const {
  const auto found = std::find_if(iterations.rbegin(), iterations.rend(),
                                  [&](const IterationView& it) { return it.number == number; });
  return found == iterations.rend() ? nullptr : &*found;
}

Result<SessionView> fold(const EventLog& log, FoldDepth depth) {
  LogFold folder(depth);
  WB_TRY(folder.update(log));
  return std::move(folder).take();
}

}  // namespace wb::session
