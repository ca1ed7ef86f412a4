// SPDX-License-Identifier: MIT
// The domain of recorded passes, as a query and as JSON.
#include <fmt/format.h>

#include <algorithm>

#include "core/json.hpp"
#include "engine/subject.hpp"
#include "verbs/proven.hpp"

namespace wb::verbs {

using problem::Problem;

std::optional<std::string> outside_domain(const Proven& proven, const Problem& problem) {
  if (auto reason = not_supported(proven.subject, problem)) return reason;
  const auto entry =
      std::find_if(proven.domain.begin(), proven.domain.end(), [&](const ProvenEntry& item) {
        return item.dtype == problem.dtype && item.D == problem.D && item.Dv == problem.Dv;
      });
  if (entry == proven.domain.end()) {
    return fmt::format("no recorded pass has dtype {} with D={} Dv={}", to_string(problem.dtype),
                       problem.D, problem.Dv);
  }
  const auto none = [](std::string_view what, std::string_view word) {
    return fmt::format("no recorded pass with this dtype and head dim has {}{}", what, word);
  };
  if (!entry->causal.contains(problem.causal)) return none("causal=", to_string(problem.causal));
  if (!entry->masks.contains(problem.mask)) return none("mask=", to_string(problem.mask));
  for (const problem::Layout layout :
       {problem.layout, problem::k_layout(problem), problem::v_layout(problem)}) {
    if (!entry->layouts.contains(layout)) return none("layout=", to_string(layout));
  }
  const bool gqa = problem.Hkv < problem.Hq;
  if (!entry->gqa.contains(gqa)) return none(gqa ? "Hkv < Hq" : "Hkv = Hq", "");
  if (problem.Sq > entry->seq_q_max) {
    return fmt::format("Sq={}, and the largest that passed is {}", problem.Sq, entry->seq_q_max);
  }
  if (problem.Skv > entry->seq_kv_max) {
    return fmt::format("Skv={}, and the largest that passed is {}", problem.Skv, entry->seq_kv_max);
  }
  return std::nullopt;
}

Json domain_json(const Proven& proven) {
  const auto words = [](const auto& set) {
    Json list = Json::array();
    for (const auto item : set) list.push_back(to_string(item));
    return list;
  };
  Json entries = Json::array();
  for (const ProvenEntry& entry : proven.domain) {
    entries.push_back({{"dtype", to_string(entry.dtype)},
                       {"D", entry.D},
                       {"Dv", entry.Dv},
                       {"causal", words(entry.causal)},
                       {"masks", words(entry.masks)},
                       {"layouts", words(entry.layouts)},
                       {"gqa", entry.gqa},
                       {"Sq_max", entry.seq_q_max},
                       {"Skv_max", entry.seq_kv_max},
                       {"events", entry.events}});
  }
  return Json{{"entries", std::move(entries)},
              {"restrictions", proven.subject.variant.manifest.restrictions},
              {"rows_without_keys", proven.subject.variant.manifest.support.rows_without_keys}};
}

}  // namespace wb::verbs
