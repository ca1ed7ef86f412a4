// SPDX-License-Identifier: MIT
#include "verbs/technique_history.hpp"

#include <algorithm>

#include "core/json.hpp"
#include "engine/recorded.hpp"

namespace wb::verbs {

using engine::stored_variant;
using engine::techniques_of;
using engine::text_of;
using session::IterationView;

const std::vector<std::string>& TechniqueHistory::of(const std::string& subject) {
  const auto [slot, is_new] = m_known.try_emplace(subject);
  if (!is_new) return slot->second;
  const auto stored = stored_variant(m_session, m_view, subject);
  if (stored) slot->second = variant::techniques_in(stored->first.manifest, stored->second);
  return slot->second;
}

std::vector<std::string> TechniqueHistory::added_by(const IterationView& iteration) {
  const std::vector<std::string>& before = of(text_of(iteration.opened.payload, "parent"));
  std::vector<std::string> added = techniques_of(iteration);
  std::erase_if(added, [&before](const std::string& word) {
    return std::find(before.begin(), before.end(), word) != before.end();
  });
  return added;
}

}  // namespace wb::verbs
