// SPDX-License-Identifier: MIT
// `brief`: what a mind that lost its context must know of a session, in at most 4 KiB. Made from
// the log alone: the same log gives the same bytes.
#include <array>

#include "engine/brief_facts.hpp"
#include "engine/memory_verbs.hpp"

namespace wb::engine {
namespace {

/// What stands longest when room is short comes last. At least so many of each stay as long as
/// shorter texts help.
struct Part {
  const char* key;
  std::size_t keep, most;
};
constexpr std::array<Part, 7> k_parts{{{"untried", 0, 40},
                                       {"notes", 1, 4},
                                       {"techniques", 6, 20},
                                       {"next", 3, 6},
                                       {"rivals", 1, 6},
                                       {"refuted", 4, 12},
                                       {"last", 3, 8}}};
/// Texts are cut at these lengths, the first that fits.
constexpr std::array<std::size_t, 4> k_text_bytes{180, 90, 45, 20};

/// Shortens one list to `size` and says by how many.
void drop(Json& brief, const Part& part, std::size_t size) {
  Json& list = brief[part.key];
  if (list.size() <= size) return;
  Json& count = brief["left_out"][part.key];
  count = (count.is_null() ? 0 : count.get<std::size_t>()) + list.size() - size;
  list.erase(list.begin() + static_cast<std::ptrdiff_t>(size), list.end());
}

Json make(BriefFacts& facts, std::size_t text_bytes) {
  facts.cut_texts_at(text_bytes);
  Json brief{{"session", facts.name()},        {"status", facts.status()},
             {"title", facts.title()},         {"objective", facts.objective()},
             {"incumbent", facts.incumbent()}, {"budget", facts.budget()},
             {"in_flight", facts.in_flight()}, {"last", facts.last()},
             {"refuted", facts.refuted()},     {"techniques", facts.techniques()},
             {"rivals", facts.rivals()},       {"next", facts.next()},
             {"notes", facts.notes()},         {"untried", facts.untried()},
             {"left_out", Json::object()}};
  for (const Part& part : k_parts) drop(brief, part, part.most);
  if (text_bytes != k_text_bytes[0]) brief["left_out"]["texts_cut_at_bytes"] = text_bytes;
  return brief;
}

bool fits(const Json& brief) {
  return brief.dump().size() <= k_brief_max_bytes;
}

/// Drops from the lists, the least missed first, until the brief fits.
bool trim(Json& brief, bool to_the_last) {
  for (const Part& part : k_parts) {
    const std::size_t keep = to_the_last ? 0 : part.keep;
    while (!fits(brief) && brief[part.key].size() > keep) {
      drop(brief, part, brief[part.key].size() - 1);
    }
  }
  return fits(brief);
}

}  // namespace

Result<Json> verb_brief(const session::Session& session) {
  WB_TRY_ASSIGN(const session::SessionView* current, session.current(session::FoldDepth::full));
  const session::SessionView& view = *current;
  WB_TRY_ASSIGN(const SessionSettings settings, settings_from_json(view.opened.payload));
  BriefFacts facts(session, view, settings);
  for (const bool to_the_last : {false, true}) {
    for (const std::size_t text_bytes : k_text_bytes) {
      Json brief = make(facts, text_bytes);
      if (trim(brief, to_the_last)) return brief;
    }
  }
  throw std::logic_error("a brief without its lists does not fit");
}

}  // namespace wb::engine
