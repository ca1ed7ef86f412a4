// SPDX-License-Identifier: MIT
// Reading playbooks for agents, and the list of all playbooks.
#include "playbook/agent_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "core/ascii.hpp"
#include "core/json.hpp"
#include "core/text.hpp"
#include "engine/engine.hpp"
#include "engine/services.hpp"

namespace wb::playbook {
namespace {

constexpr std::uint64_t k_max_agent_bytes = 1u << 20;

std::string_view stripped_end(std::string_view line) {
  return line.substr(0, line.find_last_not_of(" \t\r") + 1);
}

std::string unquoted(std::string_view value) {
  const bool quoted = value.size() >= 2 && (value.front() == '"' || value.front() == '\'') &&
                      value.back() == value.front();
  return std::string(quoted ? value.substr(1, value.size() - 2) : value);
}

std::vector<std::string> comma_separated(std::string_view value) {
  std::vector<std::string> parts;
  while (!value.empty()) {
    const std::size_t end = std::min(value.find(','), value.size());
    if (const auto part = ascii::trimmed(value.substr(0, end)); !part.empty())
      parts.emplace_back(part);
    value.remove_prefix(std::min(end + 1, value.size()));
  }
  return parts;
}

Error bad_agent(ErrorCode code, const fs::path& path, std::string why) {
  return Error{code, "read the agent's playbook", path.string(), std::move(why),
               "it begins with a line ---, `name:`, `description:` and, if it likes, `model:` and "
               "`tools:`, one a line, and another ---"};
}

using Fields = std::map<std::string, std::string, std::less<>>;

/// Returns the fields and leaves in `text` what follows them.
Result<Fields> front_matter(std::string_view& text, const fs::path& path) {
  constexpr std::array<std::string_view, 4> k_keys{"name", "description", "model", "tools"};
  Fields fields;
  for (int number = 1;; ++number) {
    if (text.empty()) return bad_agent(ErrorCode::parse, path, "its front matter has no end");
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = ascii::trimmed(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (number == 1 && line != "---") {
      return bad_agent(ErrorCode::parse, path, "its first line is not ---");
    }
    if (number == 1 || line.empty()) continue;
    if (line == "---") return fields;
    const std::size_t colon = line.find(':');
    const std::string key(ascii::trimmed(line.substr(0, std::min(colon, line.size()))));
    if (colon == std::string_view::npos ||
        std::find(k_keys.begin(), k_keys.end(), key) == k_keys.end()) {
      return bad_agent(
          ErrorCode::parse, path,
          fmt::format("line {} is none of its fields: {}", number, printable(line, 80)));
    }
    if (!fields.emplace(key, unquoted(ascii::trimmed(line.substr(colon + 1)))).second) {
      return bad_agent(ErrorCode::parse, path,
                       fmt::format("line {}: {} a second time", number, key));
    }
  }
}

Json agent_json(const AgentFile& agent) {
  return {{"name", agent.name},   {"kind", "agent"},      {"about", agent.description},
          {"model", agent.model}, {"tools", agent.tools}, {"file", agent.path},
          {"problem", nullptr},   {"arguments", nullptr}};
}

Json unread(const std::string& name, const char* kind, const fs::path& path, const Error& error) {
  return {{"name", name},         {"kind", kind},
          {"about", nullptr},     {"model", nullptr},
          {"tools", nullptr},     {"file", path.string()},
          {"arguments", nullptr}, {"problem", error.message()}};
}

class Lister {
 public:
  Lister(const engine::Engine& engine, const PlaybookOptions& options)
      : m_services(engine.services()), m_options(options) {}

  Json all() {
    for (const fs::path& root : m_services.search_path.roots) {
      lua(root / "playbooks", "");
      for (const std::string& topic : topics_of(root / "playbooks")) {
        lua(root / "playbooks" / topic, topic + "/");
      }
      agents(root / "playbooks" / "agents");
    }
    Json list = Json::array();
    for (auto& [name, entry] : m_found) list.push_back(std::move(entry));
    return list;
  }

 private:
  void lua(const fs::path& folder, const std::string& prefix) {
    for (const std::string& stem : stems_of(folder, ".lua")) {
      const std::string name = prefix + stem;
      const fs::path path = folder / (stem + ".lua");
      if (m_found.contains(name)) continue;
      m_found[name] = lua_entry(name, path);
    }
  }

  Json lua_entry(const std::string& name, const fs::path& path) {
    const auto source =
        find_playbook(m_services.file_system, m_services.search_path, path.string());
    if (!source) return unread(name, "lua", path, source.error());
    constexpr std::uint64_t k_seed = 1;
    const auto host =
        HostProcess::start(m_options, *source, playbook_verbs(), k_seed, m_services.stop_requested);
    if (!host) return unread(name, "lua", path, host.error());
    return {{"name", name},
            {"kind", "lua"},
            {"about", host->meta().about},
            {"model", nullptr},
            {"tools", nullptr},
            {"file", path.string()},
            {"problem", nullptr},
            {"arguments", host->meta().arguments}};
  }

  void agents(const fs::path& folder) {
    for (const std::string& stem : stems_of(folder, ".md")) {
      const std::string name = "agents/" + stem;
      const fs::path path = folder / (stem + ".md");
      if (m_found.contains(name)) continue;
      const auto text = read_plain_text(m_services.file_system, path, k_max_agent_bytes,
                                        "read the agent's playbook");
      const auto agent = text ? parse_agent(*text, path) : Result<AgentFile>(text.error());
      m_found[name] = agent ? agent_json(*agent) : unread(name, "agent", path, agent.error());
      m_found[name]["name"] = name;
      if (agent) m_found[name]["instructions"] = agent->body;
    }
  }

  const engine::Services& m_services;
  const PlaybookOptions& m_options;
  std::map<std::string, Json> m_found;
};

std::string line_of(const Json& entry) {
  std::string text = printable(entry["name"].get<std::string>());
  if (entry["problem"].is_string()) {
    return text + ": cannot be read: " + entry["problem"].get<std::string>() + "\n";
  }
  text += ": " + printable(entry["about"].get<std::string>(), 400);
  if (entry["kind"] == "agent") {
    text += fmt::format(" (for an agent; model: {})", printable(entry["model"].get<std::string>()));
  }
  return text + "\n";
}

/// Safe for a terminal: control characters are escaped.
std::string shown(const std::string& body) {
  std::string text;
  for (std::size_t at = 0; at < body.size();) {
    const std::size_t end = std::min(body.find('\n', at), body.size());
    text += printable(stripped_end(std::string_view(body).substr(at, end - at)), 4 * body.size()) +
            "\n";
    at = end + 1;
  }
  return text;
}

/// The entry of that name, or else the first of a folder whose name goes on so; none: nullptr.
const Json* find_named(const Json& list, const std::string& name) {
  const Json* in_folder = nullptr;
  for (const Json& entry : list) {
    const auto& own = entry["name"].get_ref<const std::string&>();
    if (own == name) return &entry;
    if (in_folder == nullptr && own.ends_with("/" + name)) in_folder = &entry;
  }
  return in_folder;
}

}  // namespace

Result<AgentFile> parse_agent(std::string_view text, const fs::path& path) {
  WB_TRY_ASSIGN(Fields fields, front_matter(text, path));
  AgentFile agent;
  agent.path = path.string();
  agent.name = fields["name"];
  agent.description = fields["description"];
  if (!fields["model"].empty()) agent.model = fields["model"];
  agent.tools = comma_separated(fields["tools"]);
  agent.body = std::string(text);
  if (agent.name.empty() || agent.description.empty()) {
    return bad_agent(ErrorCode::invalid, path,
                     agent.name.empty() ? "it has no name" : "it has no description");
  }
  if (agent.name != path.stem().string()) {
    return bad_agent(ErrorCode::invalid, path,
                     fmt::format("its name, {}, is not its file's", printable(agent.name)));
  }
  if (agent.body.find_first_not_of(" \t\r\n") == std::string::npos) {
    return bad_agent(ErrorCode::invalid, path, "nothing follows its front matter");
  }
  return agent;
}

Result<Json> list_playbooks(const engine::Engine& engine, const PlaybookOptions& options,
                            const std::string& name) {
  Json list = Lister(engine, options).all();
  std::string text;
  if (const Json* const named = name.empty() ? nullptr : find_named(list, name)) {
    text = line_of(*named) + "\n" + shown(named->value("instructions", std::string()));
    return Json{{"playbooks", Json::array({*named})}, {"text", std::move(text)}};
  }
  std::vector<std::string> names;
  for (Json& entry : list) {
    names.push_back(entry["name"].get<std::string>());
    entry.erase("instructions");
    text += line_of(entry);
  }
  if (!name.empty()) {
    const std::string near = variant::did_you_mean(name, names);
    return Error{ErrorCode::not_found, "find the playbook", printable(name),
                 "no playbooks/ folder of the search path has it",
                 near.empty() ? "`sdpa-wb playbooks` lists them all"
                              : fmt::format("did you mean {}?", near)};
  }
  if (list.empty()) text = "no playbooks/ folder of the search path has any\n";
  return Json{{"playbooks", std::move(list)}, {"text", std::move(text)}};
}

}  // namespace wb::playbook
