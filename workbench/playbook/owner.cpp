// SPDX-License-Identifier: MIT
#include "playbook/owner.hpp"

#include <fmt/format.h>

namespace wb {
namespace {

constexpr std::size_t k_max_line_bytes = 4u << 20;
/// What the host gets beyond its own limit before it is killed: its watchdog ends it first.
constexpr auto k_owner_grace = std::chrono::seconds(5);
constexpr auto k_send_deadline = std::chrono::seconds(10);

}  // namespace

Result<HostProcess> HostProcess::start(const PlaybookOptions& options, const PlaybookSource& source,
                                       const std::vector<std::string>& verbs, std::uint64_t seed,
                                       const std::atomic<bool>* stop_requested) {
  ProcessSpec spec;
  spec.argv = {options.host_program.string(), "playbook-host"};
  spec.clear_env = true;
  spec.limits.open_files = 16;
  spec.limits.file_size_bytes = 0;
  WB_TRY_ASSIGN(ChildProcess child, ChildProcess::spawn(spec));
  HostProcess host(std::move(child), options, source.path, stop_requested);
  WB_TRY(host.send({{"name", fs::path(source.path).filename().string()},
                    {"source", source.text},
                    {"lib", source.lib},
                    {"seed", seed},
                    {"verbs", verbs},
                    {"limits",
                     {{"memory_bytes", options.limits.memory_bytes},
                      {"instructions", options.limits.instructions},
                      {"lua_s", options.limits.lua_time.count()}}}}));
  WB_TRY_ASSIGN(const Json message, host.receive());
  if (const auto failed = message.find("failed"); failed != message.end()) {
    return host.failure(*failed);
  }
  const auto meta = message.find("meta");
  if (meta == message.end() || !meta->is_object()) {
    return Error{ErrorCode::invalid, "read", "the playbook " + source.path,
                 "it called a verb or printed before it returned its table",
                 "call verbs inside run(wb, args) only"};
  }
  ObjectReader reader(*meta, "the playbook's table");
  host.m_meta.name = reader.string("name");
  host.m_meta.about = reader.string("about");
  const Json* arguments = reader.member("arguments");
  const Json* open = reader.member("open");
  WB_TRY(reader.finish(true));
  if (arguments != nullptr && arguments->is_object()) host.m_meta.arguments = *arguments;
  if (open != nullptr && open->is_object()) host.m_meta.open = *open;
  return host;
}

bool HostProcess::stopped() const {
  return m_stop_requested != nullptr && m_stop_requested->load();
}

Result<void> HostProcess::send(const Json& message) {
  return m_child.write_line(message.dump(-1, ' ', false, Json::error_handler_t::replace),
                            k_send_deadline);
}

Error HostProcess::failure(const Json& failed) const {
  const auto code = parse_error_code(failed.value("code", "")).value_or(ErrorCode::invalid);
  return Error{code, "run", "the playbook " + m_path, failed.value("message", "it failed"),
               "`sdpa-wb playbook check` dry-runs a playbook"};
}

Result<Json> HostProcess::receive() {
  const auto deadline =
      std::chrono::duration_cast<std::chrono::milliseconds>(m_options.limits.lua_time) +
      k_owner_grace;
  auto line = m_child.read_line(deadline, k_max_line_bytes);
  if (stopped()) {
    return Error{ErrorCode::canceled, "run", "the playbook " + m_path, "a stop was requested",
                 "run `sdpa-wb resume --session DIR` to go on"};
  }
  if (!line) {
    const bool ended = line.error().code == ErrorCode::canceled;
    m_child.kill_and_wait();
    return Error{
        ErrorCode::limit, "run", "the playbook " + m_path,
        ended ? "its process ended without a word" : "it did not stop at its limits and was killed",
        "make it do less inside Lua"};
  }
  return parse_json(*line, "the playbook's message", {k_max_line_bytes, 64});
}

Result<Json> HostProcess::run(const Json& args, const Answer& answer, const Print& print) {
  WB_TRY(send({{"args", args}}));
  while (true) {
    WB_TRY_ASSIGN(const Json message, receive());
    if (const auto done = message.find("done"); done != message.end()) return *done;
    if (const auto failed = message.find("failed"); failed != message.end()) {
      return failure(*failed);
    }
    if (const auto text = message.find("print"); text != message.end() && text->is_string()) {
      print(text->get<std::string>());
      continue;
    }
    const auto verb = message.find("verb");
    if (verb == message.end() || !verb->is_string() || !message.value("n", Json()).is_number()) {
      m_child.kill_and_wait();
      return Error{ErrorCode::security, "run", "the playbook " + m_path,
                   "its process sent a message that is not a call", ""};
    }
    auto result = answer(verb->get<std::string>(), message.value("args", Json::object()));
    Json reply{{"n", message["n"]}};
    if (result) {
      reply["result"] = *std::move(result);
    } else if (result.error().code == ErrorCode::canceled) {
      m_child.kill_and_wait();
      return std::move(result).error();
    } else {
      reply["error"] = {{"code", to_string(result.error().code)},
                        {"message", result.error().message()}};
    }
    WB_TRY(send(reply));
  }
}

Result<Json> complete_arguments(const PlaybookMeta& meta, const Json& given) {
  Json args = Json::object();
  std::vector<std::string> known;
  for (const auto& [name, spec] : meta.arguments.items()) {
    known.push_back(name);
    if (spec.is_object() && spec.contains("default")) {
      const Json& value = spec["default"];
      args[name] = value.is_string() ? value.get<std::string>() : value.dump();
    }
  }
  for (const auto& [name, value] : given.items()) {
    if (!meta.arguments.contains(name)) {
      const std::string near = did_you_mean(name, known);
      return Error{ErrorCode::usage, "start the playbook", meta.name,
                   fmt::format("it has no argument \"{}\"", name),
                   near.empty() ? fmt::format("it takes: {}", fmt::join(known, ", "))
                                : fmt::format("did you mean {}?", near)};
    }
    args[name] = value;
  }
  return args;
}

}  // namespace wb
