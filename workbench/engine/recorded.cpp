// SPDX-License-Identifier: MIT
// Sessions that are read, their stored sources, and tolerant reads of their logs.
#include "engine/recorded.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/hash.hpp"
#include "core/json.hpp"
#include "engine/services.hpp"
#include "session/storage.hpp"

namespace wb::engine {

using session::IterationView;
using session::Session;
using session::SessionView;
using variant::Configuration;
using variant::Variant;

namespace {

/// "name" of "name@1f0c44aa".
std::string base_name(const std::string& subject) {
  return subject.substr(0, subject.find('@'));
}

template <typename Visit>
void each_iteration(const SessionView& view, const Visit& visit) {
  for (const IterationView& iteration : view.iterations) visit(iteration);
  visit(view.outside);
}

}  // namespace

Result<const Session*> RecentSession::read(FileSystem& file_system, const fs::path& folder) {
  if (m_session && m_asked == folder) {
    WB_TRY_ASSIGN(const bool is_same, m_session->catch_up());
    if (is_same) return &*m_session;
  }
  m_session.reset();
  m_asked = folder;
  WB_TRY_ASSIGN(m_session, Session::open_reader(file_system, folder));
  return &*m_session;
}

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
      const std::string variant_label =
          base_name(subject) + "@" + short_hash(text_of(built.payload, "variant_id"));
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
  const std::string name = base_name(opened);
  for (const session::Fact& built : iteration.built) {
    const std::string subject = text_of(built.payload, "subject");
    if (text_of(built.payload, "outcome") == "built" && base_name(subject) == name) return subject;
  }
  return opened;
}

std::string subject_versions(const SessionView& view, const std::string& name) {
  std::string versions;
  each_iteration(view, [&](const IterationView& iteration) {
    for (const session::Fact& verdict : iteration.verdicts) {
      if (base_name(text_of(verdict.payload, "subject")) != name) continue;
      std::string found;
      for (const auto& [key, value] : member_of(verdict.payload, "versions").items()) {
        // The build id depends on compiler and machine, which are compared separately.
        if (key == "build_id" || key.empty()) continue;
        found += fmt::format("{}{} {}", found.empty() ? "" : ", ", key, value_text(value));
      }
      if (!found.empty()) versions = std::move(found);
    }
  });
  return versions;
}

std::string subject_variant_id(const SessionView& view, const std::string& name) {
  std::string id;
  each_iteration(view, [&](const IterationView& iteration) {
    for (const session::Fact& built : iteration.built) {
      const bool ours = base_name(text_of(built.payload, "subject")) == name;
      if (ours && text_of(built.payload, "outcome") == "built") {
        id = text_of(built.payload, "variant_id");
      }
    }
  });
  return id;
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

std::string value_text(const Json& value) {
  if (value.is_null()) return {};
  return value.is_string() ? value.get<std::string>() : value.dump();
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
