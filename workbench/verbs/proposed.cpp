// SPDX-License-Identifier: MIT
// Exact search and replace with a single match: an ambiguous edit is refused, never guessed.
#include "verbs/proposed.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/ascii.hpp"
#include "core/hash.hpp"
#include "core/json.hpp"
#include "engine/parts.hpp"
#include "engine/recorded.hpp"
#include "engine/services.hpp"
#include "engine/subject.hpp"
#include "session/session.hpp"

namespace wb::verbs {

using engine::configuration_of;
using engine::Context;
using engine::load_stored;
using engine::member_of;
using engine::text_of;
using variant::Variant;

namespace {

constexpr std::size_t k_places_max = 5;

std::size_t line_of(std::string_view text, std::size_t at) {
  const std::string_view before = text.substr(0, at);
  return 1 + static_cast<std::size_t>(std::count(before.begin(), before.end(), '\n'));
}

/// Start positions, including overlapping ones; at most one more than is reported.
std::vector<std::size_t> find_all(std::string_view text, std::string_view search) {
  std::vector<std::size_t> positions;
  for (std::size_t at = text.find(search);
       at != std::string_view::npos && positions.size() <= k_places_max;
       at = text.find(search, at + 1)) {
    positions.push_back(at);
  }
  return positions;
}

/// A likely reason, such as different white space between words.
std::string why_not_found(std::string_view text, std::string_view search) {
  for (std::size_t begin = 0; begin < search.size();) {
    const std::size_t end = std::min(search.find('\n', begin), search.size());
    const std::string_view first = ascii::trimmed(search.substr(begin, end - begin));
    begin = end + 1;
    if (first.empty()) continue;
    const std::size_t at = text.find(first);
    if (at == std::string_view::npos) break;
    return fmt::format(
        "the text to replace does not stand there exactly; its line \"{}\" is like line {}, so the "
        "space around it or what follows differs",
        printable(first, 80), line_of(text, at));
  }
  return "the text to replace does not stand there";
}

Error refuse_edit(const Edit& edit, std::size_t number, ErrorCode code, std::string cause,
                  std::string next) {
  return Error{code, fmt::format("make edit {} of", number), printable(edit.path), std::move(cause),
               std::move(next)};
}

}  // namespace

Result<std::map<std::string, std::string>> apply_edits(
    const std::map<std::string, std::string>& files, const std::vector<Edit>& edits) {
  std::map<std::string, std::string> changed;
  for (std::size_t i = 0; i < edits.size(); ++i) {
    const Edit& edit = edits[i];
    const auto found = files.find(edit.path);
    if (found == files.end()) {
      std::vector<std::string> names;
      for (const auto& [path, content] : files) names.push_back(path);
      const std::string near = variant::did_you_mean(edit.path, names);
      return refuse_edit(edit, i + 1, ErrorCode::not_found, "the parent has no such file",
                         near.empty() ? fmt::format("its files: {}", fmt::join(names, ", "))
                                      : fmt::format("did you mean {}?", near));
    }
    if (edit.search.empty()) {
      return refuse_edit(edit, i + 1, ErrorCode::usage, "the text to replace is empty",
                         "give the lines to replace, or the whole file in `files`");
    }
    std::string& text = changed.try_emplace(edit.path, found->second).first->second;
    const auto positions = find_all(text, edit.search);
    if (positions.empty()) {
      return refuse_edit(edit, i + 1, ErrorCode::invalid, why_not_found(text, edit.search),
                         "copy it from the file, with its space; `read_ref` shows the file");
    }
    if (positions.size() > 1) {
      std::vector<std::size_t> lines;
      for (const std::size_t at : positions) lines.push_back(line_of(text, at));
      const bool more = lines.size() > k_places_max;
      lines.resize(std::min(lines.size(), k_places_max));
      return refuse_edit(edit, i + 1, ErrorCode::invalid,
                         fmt::format("the text to replace stands there more than once: lines {}{}",
                                     fmt::join(lines, ", "), more ? " and more" : ""),
                         "add the lines around it until it is the only one");
    }
    text.replace(positions.front(), edit.search.size(), edit.replace);
  }
  return changed;
}

const Json* find_proposed(const session::SessionView& view, std::string_view id) {
  const Json* found = nullptr;
  const auto look = [&](const session::IterationView& iteration) {
    for (const session::Fact& built : iteration.built) {
      const std::string subject = text_of(built.payload, "subject");
      const std::string of_sources = subject.substr(0, subject.find('@')) + "@" +
                                     short_hash(text_of(built.payload, "variant_id"));
      if (subject == id || of_sources == id) found = &built.payload;
    }
  };
  look(view.outside);
  for (const session::IterationView& iteration : view.iterations) look(iteration);
  return found;
}

namespace {

/// A parent need not have been built: the next edit may start from a source that the compiler
/// refused.
Result<std::pair<Variant, variant::Configuration>> parent_of_proposal(Context& context,
                                                                      const std::string& id) {
  auto resolved = resolve_variant(context, id);
  if (resolved || id.find('@') == std::string::npos) return resolved;
  WB_TRY_ASSIGN(const session::SessionView* view,
                session_of(context)->current(session::FoldDepth::full));
  const Json* found = find_proposed(*view, id);
  if (found == nullptr) return resolved;
  WB_TRY_ASSIGN(Variant variant,
                load_stored(*session_of(context), id, text_of(*found, "variant_id")));
  return std::pair{std::move(variant), configuration_of(member_of(*found, "configuration"))};
}

/// Its own files, by their paths inside its folder.
std::map<std::string, std::string> own_files(const Variant& variant) {
  const std::string folder = variant.manifest.name + "/";
  std::map<std::string, std::string> files;
  for (const auto& [path, content] : variant.files) {
    if (path.starts_with(folder)) files[path.substr(folder.size())] = content;
  }
  return files;
}

/// The argument, else the name in a manifest among the files, else the parent's.
std::string name_of(const Json& args, const std::map<std::string, std::string>& files,
                    const Variant& parent) {
  if (args.contains("name")) return args["name"].get<std::string>();
  const auto manifest = files.find("kernel.json");
  if (manifest != files.end()) {
    const auto parsed = parse_json(manifest->second, "kernel.json");
    if (parsed && parsed->is_object()) {
      if (const std::string name = text_of(*parsed, "name"); !name.empty()) return name;
    }
  }
  return parent.manifest.name;
}

}  // namespace

Result<Proposal> proposal_of(Context& context, const Json& args) {
  const Json none = Json::object();
  const Json edits_given = args.value("edits", Json::array());
  auto files = args.value("files", none).get<std::map<std::string, std::string>>();
  const Json given = args.value("configuration", none);
  if (files.empty() && edits_given.empty() && given.empty()) {
    return Error{ErrorCode::usage, "propose", "a variant", "nothing of it is new",
                 "give files, edits or a configuration"};
  }
  Proposal proposal;
  proposal.parent = args.value("parent", incumbent_of(context)->label);
  WB_TRY_ASSIGN(auto resolved, parent_of_proposal(context, proposal.parent));
  auto& [parent, configuration] = resolved;
  std::vector<Edit> edits;
  for (const Json& edit : edits_given) {
    edits.push_back({edit["path"].get<std::string>(), edit["search"].get<std::string>(),
                     edit["replace"].get<std::string>()});
  }
  auto edited = own_files(parent);
  for (const auto& [path, content] : files) edited[path] = content;
  WB_TRY_ASSIGN(auto changed, apply_edits(edited, edits));
  for (auto& [path, content] : changed) files[path] = std::move(content);
  proposal.variant = parent;
  const std::string name = name_of(args, files, parent);
  if (!files.empty() || name != parent.manifest.name) {
    WB_TRY_ASSIGN(proposal.variant,
                  variant::derive_variant(services_of(context).file_system, parent, files, name));
  }
  proposal.configuration = std::move(configuration);
  for (const auto& [parameter, value] : given.items()) {
    proposal.configuration[parameter] = value.get<std::int64_t>();
  }
  return proposal;
}

}  // namespace wb::verbs
