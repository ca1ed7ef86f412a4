// SPDX-License-Identifier: MIT
#include "verbs/copies.hpp"
#include "core/json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace wb::verbs {

void CopyFinder::add(const std::string& name, const session::EventLog& log) {
  m_common_of_last = 0;
  if (log.size() == 0) return;
  Seen now{name, {}};
  now.hashes.reserve(static_cast<std::size_t>(log.size()));
  for (std::int64_t seq = 1; seq <= log.size(); ++seq) now.hashes.push_back(log.line_hash(seq));
  const Copy* best = nullptr;
  std::vector<Copy> found;
  for (const Seen& seen : m_seen) {
    const auto [mine, theirs] =
        std::mismatch(now.hashes.begin(), now.hashes.end(), seen.hashes.begin(), seen.hashes.end());
    Copy copy;
    copy.session = name;
    copy.other = seen.name;
    copy.common = mine - now.hashes.begin();
    copy.is_apart = mine != now.hashes.end() && theirs != seen.hashes.end();
    copy.session_events = static_cast<std::int64_t>(now.hashes.size());
    copy.other_events = static_cast<std::int64_t>(seen.hashes.size());
    if (copy.common > 0) found.push_back(copy);
  }
  for (const Copy& copy : found) {
    m_common_of_last = std::max(m_common_of_last, copy.common);
    // A copy that continued separately says more than one that only stopped.
    const auto weight = [](const Copy& one) { return std::pair(one.is_apart, one.common); };
    if (best == nullptr || weight(copy) > weight(*best)) best = &copy;
  }
  if (best != nullptr) m_copies.push_back(*best);
  m_seen.push_back(std::move(now));
}

std::string words_of(const Copy& copy) {
  if (copy.is_apart) {
    return fmt::format(
        "{0} and {1} are copies of one session that both went on: the same to e{2}, then apart "
        "({0} to e{3}, {1} to e{4}); an id above e{2} means another event in each",
        copy.session, copy.other, copy.common, copy.session_events, copy.other_events);
  }
  if (copy.session_events == copy.other_events) {
    return fmt::format("{} and {} are the same session twice, to e{}", copy.session, copy.other,
                       copy.common);
  }
  const bool is_earlier = copy.session_events < copy.other_events;
  return fmt::format("{} is {} as it was at e{}", is_earlier ? copy.session : copy.other,
                     is_earlier ? copy.other : copy.session, copy.common);
}

Json to_json(const std::vector<Copy>& copies) {
  Json list = Json::array();
  for (const Copy& copy : copies) {
    list.push_back({{"session", copy.session},
                    {"copy_of", copy.other},
                    {"common_events", copy.common},
                    {"apart", copy.is_apart},
                    {"message", words_of(copy)}});
  }
  return list;
}

}  // namespace wb::verbs
