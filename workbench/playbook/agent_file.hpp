// SPDX-License-Identifier: MIT
// Private to playbook: playbooks for agents, Markdown with front matter below playbooks/agents/.
// The workbench lists them and checks their form; a model follows them with the tools that they
// name.
#pragma once

#include <string>
#include <vector>

#include "core/files.hpp"
#include "core/json_fwd.hpp"
#include "playbook/owner.hpp"
#include "verbs/table.hpp"

namespace wb::engine {
class Engine;
}

namespace wb::playbook {

/// The front matter, between two lines of `---`: one `key: value` per line; a value may be quoted.
struct AgentFile {
  std::string path, name, description;
  std::string model = "inherit";   ///< "inherit": the caller's
  std::vector<std::string> tools;  ///< required tools, separated by commas in the file
  std::string body;                ///< the instructions, Markdown
};
/// Errors: parse (no front matter, an invalid line or key, a duplicate key; names the line),
/// invalid (no name or description, a name that differs from the file's, no instructions).
Result<AgentFile> parse_agent(std::string_view text, const fs::path& path);

/// All playbooks, Lua's and agents', by name; the first root that has a name counts. An unreadable
/// one is listed with the reason. `name` empty: all; errors: not_found.
Result<Json> list_playbooks(const engine::Engine& engine, const PlaybookOptions& options,
                            const std::string& name);

/// The stems of a folder's files with this ending, sorted; none when there is no such folder.
std::vector<std::string> stems_of(const fs::path& folder, std::string_view extension);
/// The folders of a playbooks/ that hold playbooks about one subject, sorted: "documents", "h200".
std::vector<std::string> topics_of(const fs::path& playbooks);
/// The names of the verbs that a playbook may call.
std::vector<std::string> playbook_verbs(verbs::Table table = verbs::verb_table());

}  // namespace wb::playbook
