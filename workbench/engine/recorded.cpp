// SPDX-License-Identifier: MIT
#include "engine/recorded.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/ascii.hpp"
#include "core/hash.hpp"
#include "session/storage.hpp"

namespace wb::engine {

using measure::Comparison;
using session::IterationView;
using session::Session;
using session::SessionView;
using variant::Configuration;
using variant::Variant;

namespace {

bool is_word_char(char c) {
  return ascii::is_alnum(c) || c == '_' || c == '-';
}

/// Replaces whole words only: a problem named "a" must not rewrite every "a" of a sentence's words.
std::string replace_words(std::string text, const std::string& what, const std::string& with) {
  for (std::size_t at = text.find(what); at != std::string::npos;) {
    const std::size_t end = at + what.size();
    const bool whole = (at == 0 || !is_word_char(text[at - 1])) &&
                       (end == text.size() || !is_word_char(text[end]));
    if (whole) text.replace(at, what.size(), with);
    at = text.find(what, at + (whole ? with.size() : 1));
  }
  return text;
}

}  // namespace

Result<Session> open_recorded(const Services& services, const std::string& id) {
  const auto is_there = [](const fs::path& path) {
    std::error_code error;
    return fs::is_directory(path, error) || session::is_session(path);
  };
  fs::path folder = id;
  if (!is_there(folder) && is_inside(folder)) folder = services.sessions_root / id;
  if (!is_there(folder)) {
    return Error{ErrorCode::not_found, "read the session", id,
                 fmt::format("neither {} nor {} is a folder or an archive", id, folder.string()),
                 "give the session's folder or archive, or its name and --sessions DIR"};
  }
  return Session::open_reader(services.file_system, folder);
}

const Json* find_built(const SessionView& view, std::string_view id) {
  const Json* found = nullptr;
  const auto look = [&](const IterationView& iteration) {
    for (const session::Fact& built : iteration.built) {
      if (text_of(built.payload, "outcome") != "built") continue;
      const std::string subject = text_of(built.payload, "subject");
      const std::string name = subject.substr(0, subject.find('@'));
      const std::string variant_label =
          name + "@" + short_hash(text_of(built.payload, "variant_id"));
      if (subject == id || variant_label == id) found = &built.payload;
    }
  };
  look(view.outside);
  for (const IterationView& iteration : view.iterations) look(iteration);
  return found;
}

Result<std::pair<Variant, Configuration>> stored_variant(const Session& session,
                                                         const SessionView& view,
                                                         std::string_view id) {
  const Json* built = find_built(view, id);
  if (built == nullptr) {
    return Error{ErrorCode::not_found, "find the variant", std::string(id),
                 "no iteration of this session built it", "`sdpa-wb report` lists the variants"};
  }
  WB_TRY_ASSIGN(Variant variant,
                load_stored(session, text_of(*built, "subject"), text_of(*built, "variant_id")));
  return std::pair{std::move(variant), configuration_of(member_of(*built, "configuration"))};
}

Result<Variant> load_stored(const Session& session, std::string_view name,
                            const std::string& variant_id) {
  WB_TRY_ASSIGN(auto files, session.load_variant_files(variant_id));
  WB_TRY_ASSIGN(
      Variant variant,
      variant::variant_from_files(std::string(name.substr(0, name.find('@'))), std::move(files)));
  if (variant.id != variant_id) {
    return Error{ErrorCode::damaged, "read the stored variant", std::string(name),
                 fmt::format("its files below kernels/{} are not those it was built from",
                             short_hash(variant_id)),
                 "put them back from the iteration's commit"};
  }
  return variant;
}

Configuration configuration_of(const Json& json) {
  Configuration configuration;
  if (!json.is_object()) return configuration;
  for (const auto& [name, value] : json.items()) {
    if (value.is_number_integer()) configuration[name] = value.get<std::int64_t>();
  }
  return configuration;
}

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

const IterationView* holder_of(const SessionView& view) {
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

const Json& member_of(const Json& json, std::string_view key) {
  static const Json none;
  if (!json.is_object()) return none;
  const auto found = json.find(key);
  return found == json.end() ? none : *found;
}

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

std::vector<std::string> techniques_of(const IterationView& iteration) {
  std::vector<std::string> words;
  for (const Json& word : member_of(iteration.opened.payload, "techniques")) {
    if (word.is_string()) words.push_back(word.get<std::string>());
  }
  return words;
}

bool tells_of_its_variant(const Json& closed) {
  return text_of(closed, "outcome") != "abandoned" &&
         text_of(closed, "invalidity") != "environment";
}

std::string text_of(const Json& json, std::string_view key) {
  const Json& value = member_of(json, key);
  return value.is_string() ? value.get<std::string>() : std::string();
}

std::optional<double> number_of(const Json& json, std::string_view key) {
  const Json& value = member_of(json, key);
  if (!value.is_number() || !std::isfinite(value.get<double>())) return std::nullopt;
  return value.get<double>();
}

Comparison comparison_of(const Json& payload) {
  const Json& interval = member_of(payload, "interval");
  Comparison comparison;
  comparison.speedup = number_of(payload, "speedup").value_or(std::nan(""));
  comparison.interval = {number_of(interval, "low").value_or(std::nan("")),
                         number_of(interval, "high").value_or(std::nan("")),
                         number_of(interval, "confidence").value_or(0.99)};
  comparison.noise_floor_frac = number_of(payload, "noise_floor_frac").value_or(0.0);
  return comparison;
}

Comparison change_between(const Comparison& before, const Comparison& after) {
  Comparison change;
  change.speedup = after.speedup / before.speedup;
  change.interval = {std::nan(""), std::nan(""), after.interval.confidence};
  change.noise_floor_frac = std::hypot(before.noise_floor_frac, after.noise_floor_frac);
  if (measure::is_valid(before.interval) && measure::is_valid(after.interval) &&
      change.speedup > 0) {
    const auto part = [](double a, double b) { return std::log(a / b); };
    const double down = std::hypot(part(after.speedup, after.interval.low),
                                   part(before.interval.high, before.speedup));
    const double up = std::hypot(part(after.interval.high, after.speedup),
                                 part(before.speedup, before.interval.low));
    change.interval.low = change.speedup * std::exp(-down);
    change.interval.high = change.speedup * std::exp(up);
  }
  change.outcome =
      measure::classify(change.interval, change.noise_floor_frac, change.noise_floor_frac);
  return change;
}

ProblemNames::ProblemNames(const problem::Suite& suite) {
  std::int64_t held_out = 0;
  for (const problem::SuiteProblem& member : suite.problems) {
    const std::string text = to_text(member.problem);
    std::string name = label(member.problem);
    if (member.held_out) {
      const std::string hidden = fmt::format("held-out {}", ++held_out);
      m_hidden.emplace_back(text, hidden);
      if (name != text) m_hidden.emplace_back(name, hidden);
      // Events are shown as JSON, where a quote in a name has a backslash before it.
      const std::string quoted = Json(name).dump(-1, ' ', false, Json::error_handler_t::replace);
      const std::string in_json = quoted.substr(1, quoted.size() - 2);
      if (in_json != name) m_hidden.emplace_back(in_json, hidden);
      name = hidden;
    }
    m_names.insert_or_assign(text, std::move(name));
  }
  // One problem's text may begin another's.
  std::stable_sort(m_hidden.begin(), m_hidden.end(),
                   [](const auto& a, const auto& b) { return a.first.size() > b.first.size(); });
}

std::string ProblemNames::of(std::string_view problem) const {
  const auto found = m_names.find(problem);
  return found == m_names.end() ? std::string(problem) : found->second;
}

bool ProblemNames::is_held_out(std::string_view problem) const {
  return std::any_of(m_hidden.begin(), m_hidden.end(),
                     [&](const auto& item) { return item.first == problem; });
}

std::string ProblemNames::hide(std::string words) const {
  for (const auto& [what, with] : m_hidden) words = replace_words(std::move(words), what, with);
  return words;
}

}  // namespace wb::engine
