// SPDX-License-Identifier: MIT
#include "engine/stored.hpp"

#include <fmt/format.h>

#include "core/hash.hpp"
#include "core/json.hpp"
#include "engine/recorded.hpp"
#include "engine/services.hpp"
#include "session/storage.hpp"

namespace wb::engine {

using session::IterationView;
using session::Session;
using session::SessionView;
using variant::Configuration;
using variant::Variant;

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

}  // namespace wb::engine
