// SPDX-License-Identifier: MIT
// The register of ideas: what somebody thought of trying, on which kernel and where, and what
// became of it. kernels/ideas.json ships; a file of the same form lies in the user's data folder;
// sessions record their own. Effects are in none of them: they are folded from logs.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "catalogue/list.hpp"
#include "catalogue/techniques.hpp"
#include "core/json_fwd.hpp"

namespace wb::catalogue {

/// What is said of an idea. Logs decide where they have an isolated trial of it.
enum class IdeaState { open, tried, won, lost, no_gain };
std::string_view to_string(IdeaState value);

enum class IdeaPlace { shipped, user, session };
std::string_view to_string(IdeaPlace value);

struct Range {
  std::int64_t low = 1, high = std::int64_t{1} << 31;
  [[nodiscard]] bool has(std::int64_t value) const { return low <= value && value <= high; }
};

/// Where an idea was tried, or is meant for.
struct IdeaScope {
  std::string device;             ///< part of the device's name, in any letter case; empty: any
  std::string architecture_from;  ///< "sm_90"; empty: any
  ProblemKind kind;
  Range head_dim, seq_q, seq_kv;
};

struct Idea {
  std::string id;         ///< lower-case letters, digits and '_'
  std::string title;      ///< what to do, in a few words
  std::string technique;  ///< of the closed list; empty: free text
  std::string family;     ///< of its technique, or given
  std::vector<std::string> backends, helps;
  std::vector<std::string> kernels;  ///< that it is for; empty: any
  std::string has;                   ///< a kernel that has it, where one ships
  /// Parameters of `kernels` that turn it on, with the value that does.
  std::map<std::string, std::int64_t> parameters;
  std::vector<std::string> needs, replaced_by;  ///< techniques
  IdeaScope scope;
  IdeaState state = IdeaState::open;
  std::string source;  ///< where it comes from, or what was measured
  std::string since;   ///< the day from which on it was known: "2026-11-21"
  std::string by;      ///< "person", "catalogue", "agent"
  std::string pack;    ///< the file it was imported from; empty: an own one
  IdeaPlace place = IdeaPlace::shipped;
  std::int64_t event = 0;  ///< of the session
  [[nodiscard]] bool is_foreign() const { return !pack.empty(); }
};

/// One entry. Errors: invalid (an unknown word, a bad range, an empty title), as ObjectReader.
Result<Idea> read_idea(const Json& json, const std::string& what);
Json to_json(const Idea& idea);

/// In file order. Errors: parse, invalid (also an id twice), too_new.
Result<std::vector<Idea>> parse_ideas(std::string_view text, std::string_view what);
/// kernels/ideas.json of the first root that has it; none without one. Errors: of the file.
Result<std::vector<Idea>> load_ideas(const FileSystem& file_system,
                                     const variant::SearchPath& search_path);

/// The user's file; empty without a data folder.
fs::path ideas_file(const fs::path& data_root);
/// Its ideas; none where it does not exist. Errors: of the file.
Result<std::vector<Idea>> load_users_ideas(const FileSystem& file_system,
                                           const fs::path& data_root);
/// Writes the user's file anew with `more` behind what it has. Errors: usage (no data folder),
/// invalid (an id that is there), io.
Result<void> add_users_ideas(FileSystem& file_system, const fs::path& data_root,
                             const std::vector<Idea>& more);

/// Whether the scope covers the problem on the device.
bool covers(const IdeaScope& scope, std::string_view device, std::string_view architecture,
            const problem::Problem& problem);

/// Whether a source names the session: "sessions/NAME", and no longer name that begins so.
bool cites_session(std::string_view source, std::string_view session);
/// All sessions that a source names so.
std::vector<std::string> cited_sessions(std::string_view source);

/// The idea as a technique, so that one rule rates both. It has no range of its own: 1 to 1.
Technique as_technique(const Idea& idea);

}  // namespace wb::catalogue
