// SPDX-License-Identifier: MIT
// Private to playbook: playbooks for agents, Markdown with front matter below playbooks/agents/.
// The workbench lists them and checks their form; who follows them is a model with the tools they
// name.
#pragma once

#include <string>
#include <vector>

#include "core/files.hpp"
#include "engine/engine.hpp"
#include "playbook/owner.hpp"
#include "verbs/table.hpp"

namespace wb::playbook {

/// Between two lines of `---`: `key: value`, one a line; a value may stand in quotes.
struct AgentFile {
  std::string path, name, description;
  std::string model = "inherit";   ///< "inherit": that of whoever calls it
  std::vector<std::string> tools;  ///< what it needs, separated by commas in the file
  std::string body;                ///< the instructions, Markdown
};
/// Errors: parse (no front matter, a line or key that is none, a key twice; the line is named),
/// invalid (no name or description, a name that is not its file's, no instructions).
Result<AgentFile> parse_agent(std::string_view text, const fs::path& path);

/// All that can be found, Lua's and agents', by name; the first root that has a name counts. One
/// that cannot be read is listed with the reason. `name` empty: all; errors: not_found.
Result<Json> list_playbooks(const engine::Engine& engine, const PlaybookOptions& options,
                            const std::string& name);

/// The stems of the files with this ending in a folder, sorted; none when there is no such folder.
std::vector<std::string> stems_of(const fs::path& folder, std::string_view extension);
/// The folders of a playbooks/ that hold playbooks about one subject, sorted: "documents", "h200".
std::vector<std::string> topics_of(const fs::path& playbooks);
/// The names of the verbs that a playbook may call.
std::vector<std::string> playbook_verbs(verbs::Table table = verbs::verb_table());

}  // namespace wb::playbook
