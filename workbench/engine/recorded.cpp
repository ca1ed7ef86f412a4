// SPDX-License-Identifier: MIT
#include "engine/recorded.hpp"

#include <algorithm>
#include <cmath>

#include "core/json.hpp"
#include "engine/stored.hpp"

namespace wb::engine {

using session::IterationView;
using session::Session;
using session::SessionView;

std::optional<double> confirmed_gain(const SessionView& view) {
  std::optional<double> gain;
  for (const IterationView& iteration : view.iterations) {
    if (!iteration.incumbent_changed || !iteration.closed) continue;
    if (text_of(iteration.closed->payload, "outcome") == "abandoned") continue;
    const auto speedup = number_of(iteration.incumbent_changed->payload, "speedup");
    if (speedup) gain = gain.value_or(1.0) * *speedup;
  }
  return gain;
}

const IterationView* incumbent_iteration(const SessionView& view) {
  const IterationView* holder = nullptr;
  for (const IterationView& iteration : view.iterations) {
    if (!iteration.closed || text_of(iteration.closed->payload, "outcome") == "abandoned") continue;
    const bool is_baseline = text_of(iteration.closed->payload, "outcome") == "baseline";
    if (iteration.incumbent_changed || is_baseline) holder = &iteration;
  }
  return holder;
}

std::string candidate_of(const IterationView& iteration) {
  if (iteration.incumbent_changed) return text_of(iteration.incumbent_changed->payload, "to");
  if (!iteration.comparisons.empty()) {
    const std::string compared = text_of(iteration.comparisons.back().payload, "candidate");
    if (!compared.empty()) return compared;
  }
  const std::string opened = text_of(iteration.opened.payload, "variant");
  const std::string name = opened.substr(0, opened.find('@'));
  for (const session::Fact& built : iteration.built) {
    const std::string subject = text_of(built.payload, "subject");
    if (text_of(built.payload, "outcome") == "built" &&
        subject.substr(0, subject.find('@')) == name) {
      return subject;
    }
  }
  return opened;
}

std::vector<std::string> techniques_of(const IterationView& iteration) {
  std::vector<std::string> words;
  for (const Json& word : member_of(iteration.opened.payload, "techniques")) {
    if (word.is_string()) words.push_back(word.get<std::string>());
  }
  return words;
}

bool is_about_variant(const Json& closed) {
  return text_of(closed, "outcome") != "abandoned" &&
         text_of(closed, "invalidity") != "environment";
}

std::optional<std::vector<std::string>> added_to(const Session& session, const SessionView& view,
                                                 const std::string& parent,
                                                 std::vector<std::string> has) {
  const auto stored = stored_variant(session, view, parent);
  if (!stored) return std::nullopt;
  const auto before = variant::techniques_in(stored->first.manifest, stored->second);
  std::erase_if(has, [&before](const std::string& word) {
    return std::find(before.begin(), before.end(), word) != before.end();
  });
  return has;
}

}  // namespace wb::engine
