// SPDX-License-Identifier: MIT
// `new`: makes a kernel folder to edit. It is published by one rename and never replaces anything.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "core/json.hpp"
#include "core/writing.hpp"
#include "engine/parts.hpp"
#include "engine/recorded.hpp"
#include "engine/services.hpp"
#include "variant/closure.hpp"
#include "variant/variant.hpp"
#include "verbs/arguments.hpp"
#include "verbs/verb.hpp"

namespace wb::verbs {

using engine::Context;
using engine::stored_variant;
using variant::Configuration;
using variant::Variant;

namespace {

constexpr std::size_t k_about_max_bytes = 200;

Error refuse(const std::string& name, ErrorCode code, std::string cause, std::string next) {
  return Error{code, "make the kernel folder", name, std::move(cause), std::move(next)};
}

/// A kernel by name, or a variant stored in a recorded session, with its configuration.
Result<std::pair<Variant, Configuration>> read_parent(Context& context, const std::string& from,
                                                      const fs::path& folder) {
  if (from.find('@') == std::string::npos) {
    WB_TRY_ASSIGN(Variant variant, catalogue_of(context).find(from));
    return std::pair{std::move(variant), Configuration{}};
  }
  if (folder.empty()) {
    return Error{ErrorCode::not_found, "find the variant", from,
                 "labels with @ are known inside a session only",
                 "name a kernel (see `sdpa-wb kernels`) or give --session DIR"};
  }
  WB_TRY_ASSIGN(const session::Session session,
                open_recorded(services_of(context), folder.string()));
  WB_TRY_ASSIGN(const session::SessionView view, session.view(session::FoldDepth::full));
  return stored_variant(session, view, from);
}

/// The parent's manifest with its key order; parts to be edited are marked.
std::string manifest_text(const Variant& parent, const std::string& name,
                          const Configuration& configuration) {
  const std::string& old = parent.manifest.name;
  auto manifest = nlohmann::ordered_json::parse(parent.files.at(old + "/kernel.json"));
  manifest["name"] = name;
  manifest["parent"] = old;
  manifest["about"] = fmt::format("Say in one line what is new here; so far a copy of {}: {}", old,
                                  printable(parent.manifest.about, k_about_max_bytes));
  for (const auto& [parameter, value] : configuration) manifest["defaults"][parameter] = value;
  return manifest.dump(2) + "\n";
}

bool exists_in_any_form(const fs::path& path) {
  std::error_code error;
  return fs::exists(fs::symlink_status(path, error));
}

/// Removed with its content unless it was renamed away.
struct Scaffold {
  fs::path path;
  Scaffold() = default;
  Scaffold(const Scaffold&) = delete;
  Scaffold& operator=(const Scaffold&) = delete;
  ~Scaffold() {
    std::error_code ignored;
    if (!path.empty()) fs::remove_all(path, ignored);
  }
};

constexpr std::string_view k_common_prefix = "common/";

/// By their path in common/, the headers that the copy brings in its own folder: all of its
/// parent's where common/ of `roots` lacks one of them, as a recorded kernel's may be. They belong
/// together, so none of today's is mixed in.
Result<std::map<std::string, std::string>> headers_to_bring(const FileSystem& file_system,
                                                            const Variant& variant,
                                                            const std::vector<fs::path>& roots) {
  std::map<std::string, std::string> headers;
  bool is_one_missing = false;
  if (variant.manifest.backend == variant::Backend::python) return headers;  // imports by name
  for (const auto& [path, text] : variant.files) {
    if (!path.starts_with(k_common_prefix)) continue;
    WB_TRY_ASSIGN(const auto found, variant::read_common(file_system, roots, path));
    is_one_missing = is_one_missing || !found;
    headers.emplace(path.substr(k_common_prefix.size()), text);
  }
  if (!is_one_missing) headers.clear();
  return headers;
}

/// Writes the variant's own files and `headers`; the rest of common/ is found beside the folder, or
/// in the installed set.
Result<void> fill(FileSystem& file_system, const Variant& variant,
                  std::map<std::string, std::string> headers, const fs::path& folder) {
  const std::string own = variant.manifest.name + "/";
  std::map<std::string, std::string> files = std::move(headers);
  for (const auto& [path, text] : variant.files) {
    if (path.starts_with(own)) files[path.substr(own.size())] = text;
  }
  for (const auto& [path, text] : files) {
    if (!is_inside(path)) throw std::logic_error("a variant's file lies outside its folder");
    WB_TRY(file_system.make_directories((folder / path).parent_path()));
    WB_TRY(file_system.write_atomic(folder / path, text, Durability::none));
  }
  return {};
}

/// Renames without replacing anything, including an empty folder.
Result<void> publish(const fs::path& from, const fs::path& to, const std::string& name) {
  if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0) return {};
  if (errno == EINVAL) {
    // For a file system without that flag: mkdir decides which process is first, and rename
    // replaces the empty folder.
    if (::mkdir(to.c_str(), 0755) == 0 && ::rename(from.c_str(), to.c_str()) == 0) return {};
  }
  if (errno == EEXIST || errno == ENOTEMPTY) {
    return refuse(name, ErrorCode::invalid, to.string() + " exists already",
                  "choose another name, or remove the folder yourself");
  }
  return errno_error("publish the kernel folder", to, errno);
}

/// Headers of common/ that differ from those of the parent, so that the copy is a different
/// variant, which is reported.
std::vector<std::string> changed_headers(const Variant& derived, const Variant& written) {
  std::vector<std::string> changed;
  const auto has = [&written](const std::string& path, const std::string& text) {
    const auto found = written.files.find(path);
    return found != written.files.end() && found->second == text;
  };
  for (const auto& [path, text] : derived.files) {
    const bool is_shared = path.starts_with(k_common_prefix);
    const std::string brought =
        is_shared ? written.manifest.name + "/" + path.substr(k_common_prefix.size()) : path;
    if (!has(path, text) && !has(brought, text)) changed.push_back(path);
  }
  return changed;
}

/// Where kernels and common/ are looked for after the new folder's own place.
std::vector<fs::path> kernels_roots(const Context& context) {
  std::vector<fs::path> roots;
  for (const fs::path& root : services_of(context).search_path.roots)
    roots.push_back(root / "kernels");
  return roots;
}

/// The option for later calls to find the folder; empty when none is needed.
std::string where_to_look(const Context& context, const fs::path& in) {
  std::error_code error;
  for (const fs::path& root : services_of(context).search_path.roots) {
    if (fs::equivalent(root, in, error)) return {};
  }
  std::string word;
  for (const char c : in.string()) word += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return fmt::format(" --path '{}'", word);
}

/// Prevents shadowing another kernel unintentionally.
Result<void> check_name(const Context& context, const std::string& name, const fs::path& folder) {
  if (!variant::is_kernel_name(name) || name == "common") {
    return refuse(name, ErrorCode::usage, "this is not a kernel name",
                  "use lower-case letters, digits and '_', a letter first, at most 64");
  }
  if (exists_in_any_form(folder)) {
    return refuse(name, ErrorCode::invalid, folder.string() + " exists already",
                  "choose another name, or remove the folder yourself");
  }
  for (const variant::Catalogue::Entry& entry : catalogue_of(context).list()) {
    if (entry.name != name) continue;
    return refuse(name, ErrorCode::invalid,
                  fmt::format("{} has a kernel of that name", entry.kernels_root.string()),
                  "choose another name");
  }
  return {};
}

Result<Json> new_body(Context& context, const Json& args, const fs::path& session) {
  FileSystem& file_system = services_of(context).file_system;
  const auto name = args["name"].get<std::string>();
  const fs::path in = args.value("in", ".");
  const fs::path kernels = in / "kernels";
  const fs::path folder = (kernels / name).lexically_normal();
  WB_TRY(check_name(context, name, folder));
  WB_TRY_ASSIGN(const auto parent, read_parent(context, args["from"].get<std::string>(), session));
  // The result must be a variant: derive_variant checks manifest, names and includes.
  WB_TRY_ASSIGN(const Variant derived,
                variant::derive_variant(
                    file_system, parent.first,
                    {{"kernel.json", manifest_text(parent.first, name, parent.second)}}, name));
  const auto more_roots = kernels_roots(context);
  std::vector<fs::path> roots{kernels};
  roots.insert(roots.end(), more_roots.begin(), more_roots.end());
  WB_TRY_ASSIGN(auto headers, headers_to_bring(file_system, derived, roots));
  const bool brings_headers = !headers.empty();
  UnfinishedFolder made(kernels);
  made.leave_content();
  WB_TRY(file_system.make_directories(kernels));
  std::string pattern = (kernels / (".new-" + name + "-XXXXXX")).string();
  if (::mkdtemp(pattern.data()) == nullptr) {
    return errno_error("make a folder in", kernels, errno);
  }
  Scaffold scaffold;
  scaffold.path = pattern;
  WB_TRY(fill(file_system, derived, std::move(headers), scaffold.path));
  ::chmod(scaffold.path.c_str(), 0755);  // mkdtemp gives 0700
  WB_TRY(publish(scaffold.path, folder, name));
  scaffold.path.clear();
  made.keep();
  WB_TRY_ASSIGN(const Variant written,
                variant::read_variant(file_system, kernels, name, more_roots));
  Json files = Json::array();
  for (const auto& [path, text] : written.files) {
    if (path.starts_with(name + "/")) files.push_back(path.substr(name.size() + 1));
  }
  const auto changed = changed_headers(derived, written);
  std::string text = fmt::format(
      "{}\nedit \"about\" and \"techniques\" in kernel.json, then: sdpa-wb check {}{}\n",
      folder.string(), name, where_to_look(context, in));
  if (!changed.empty()) {
    text += fmt::format("note: these shared headers differ from those of {}: {}\n",
                        label(parent.first), fmt::join(changed, ", "));
  }
  if (brings_headers) {
    text += fmt::format(
        "note: kernels/common has no longer all headers of {}, so the folder has its own\n",
        label(parent.first));
  }
  return Json{{"folder", folder.string()},     {"variant", label(written)},
              {"parent", label(parent.first)}, {"files", std::move(files)},
              {"changed_headers", changed},    {"text", text}};
}

}  // namespace

const Verb& verb_new() {
  static const Verb verb{
      .spec = {.name = "new",
               .doc =
                   "write a kernel folder to start editing in: kernels/NAME, copied from a variant",
               .arguments = {id_argument("name", "the new kernel's name").required().positional(),
                             id_argument(
                                 "from",
                                 "a kernel's name, or with --session a label of that session")
                                 .required(),
                             string_argument(
                                 "in", "the folder that holds kernels/, or will (default .)")},
               .result = {{"folder", "string: what was written"},
                          {"variant", "string: label"},
                          {"parent", "string: label of what it was copied from"},
                          {"files", "list: its files"},
                          {"changed_headers", "list: shared headers that differ from the parent's"},
                          {"text", "string: the same for people"}},
               .in_playbook = false},
      .body = [](const Call& call) { return new_body(call.context, call.args, call.folder); }};
  return verb;
}

}  // namespace wb::verbs
