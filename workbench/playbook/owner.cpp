// SPDX-License-Identifier: MIT
#include "playbook/owner.hpp"

#include <fmt/format.h>

#include "core/json.hpp"
#include "core/json_fields.hpp"
#include "engine/engine.hpp"
#include "variant/variant.hpp"

namespace wb::playbook {
namespace {

/// Extra time before the host is killed; its own watchdog ends it first.
constexpr auto k_owner_grace = std::chrono::seconds(5);
constexpr auto k_send_deadline = std::chrono::seconds(10);

std::string advice(ErrorCode code) {
  if (code == ErrorCode::limit) {
    return "make it do less inside Lua; docs/guide/add_a_playbook.md has the limits";
  }
  return "correct it; `sdpa-wb playbook check` dry-runs a playbook in a moment";
}

}  // namespace

std::string wire_line(const Json& message) {
  return message.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<HostProcess> HostProcess::start(const PlaybookOptions& options, const PlaybookSource& source,
                                       const std::vector<std::string>& verbs, std::uint64_t seed,
                                       const std::atomic<bool>* stop_requested) {
  ProcessSpec spec;
  spec.argv = {options.host_program.string(), "playbook-host"};
  spec.clear_env = true;
  spec.limits.open_files = 16;
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
                      {"calls", options.limits.calls},
                      {"lua_ms", options.limits.lua_time.count()}}}}));
  while (true) {
    WB_TRY_ASSIGN(const Json message, host.receive());
    if (const auto failed = message.find("failed"); failed != message.end()) {
      return host.failure(*failed);
    }
    if (const auto meta = message.find("meta"); meta != message.end()) {
      WB_TRY(host.read_meta(*meta));
      return host;
    }
    host.m_early_prints.push_back(text_of(message, "print"));
  }
}

Result<void> HostProcess::read_meta(const Json& meta) {
  ObjectReader reader(meta, "the table of " + m_path);
  m_meta.name = reader.string("name");
  m_meta.about = reader.string("about");
  for (const auto& [key, table] :
       {std::pair{"arguments", &m_meta.arguments}, std::pair{"open", &m_meta.open}}) {
    const Json* given = reader.member(key);
    if (given == nullptr || given->is_null()) continue;
    if (!given->is_object()) reader.fail(key, "must be a table of named values");
    *table = *given;
  }
  WB_TRY(reader.finish(true));
  for (const auto& [name, spec] : m_meta.arguments.items()) {
    const bool good = spec.is_object() && spec.contains("default") &&
                      (spec["default"].is_primitive() && !spec["default"].is_null()) &&
                      !text_of(spec, "doc").empty();
    if (good) continue;
    return error(ErrorCode::invalid,
                 fmt::format("its argument \"{}\" is not of the form {{ default = VALUE, doc = "
                             "\"what it is\" }}",
                             printable(name)),
                 advice(ErrorCode::invalid));
  }
  return {};
}

bool HostProcess::stopped() const {
  return m_stop_requested != nullptr && m_stop_requested->load();
}

Result<void> HostProcess::send(const Json& message) {
  return m_child.write_line(wire_line(message), k_send_deadline);
}

Error HostProcess::error(ErrorCode code, std::string cause, std::string next) const {
  return Error{code, "run", "the playbook " + m_path, std::move(cause), std::move(next)};
}

Error HostProcess::failure(const Json& failed) const {
  const auto code = parse_error_code(text_of(failed, "code")).value_or(ErrorCode::invalid);
  return error(code, text_or(failed, "message", "it failed without a word"), advice(code));
}

Result<Json> HostProcess::receive() {
  const auto deadline = m_options.limits.lua_time + k_owner_grace;
  auto line = m_child.read_line(deadline, k_wire_limits.max_bytes);
  if (stopped()) {
    return error(ErrorCode::canceled, "a stop was requested",
                 "run `sdpa-wb resume --session DIR` to go on");
  }
  if (!line && line.error().code == ErrorCode::canceled) {
    const std::string last_words = printable(m_child.captured_stderr());
    m_child.kill_and_wait();
    return error(ErrorCode::internal,
                 "its process ended without a word" +
                     (last_words.empty() ? std::string() : ": " + last_words),
                 "try `sdpa-wb doctor`");
  }
  if (!line) {
    m_child.kill_and_wait();
    return error(ErrorCode::limit, "its process did not keep its limits and was killed",
                 advice(ErrorCode::limit));
  }
  auto message = parse_json(*line, "the message of its process", k_wire_limits);
  if (message && message->is_object()) return message;
  m_child.kill_and_wait();
  return error(ErrorCode::security, "its process sent a message that is not a JSON object");
}

Json HostProcess::reply_to(const Json& n, Result<Json> result) const {
  Json reply{{"n", n}};
  if (result) {
    reply["result"] = *std::move(result);
    const std::size_t size = wire_line(reply).size();
    if (size <= k_wire_limits.max_bytes) return reply;
    result = error(ErrorCode::limit, fmt::format("the answer has {} MiB", size >> 20),
                   fmt::format("at most {} MiB are passed on", k_wire_limits.max_bytes >> 20));
    reply.erase("result");
  }
  reply["error"] = {{"code", to_string(result.error().code)},
                    {"message", result.error().message()}};
  return reply;
}

Result<Json> HostProcess::run(const Json& args, const Answer& answer, const Print& print) {
  for (const std::string& text : m_early_prints) print(text);
  WB_TRY(send({{"args", args}}));
  while (true) {
    WB_TRY_ASSIGN(const Json message, receive());
    if (const auto done = message.find("done"); done != message.end()) {
      m_child.kill_and_wait();  // it ends anyway; closing a long session takes a while
      return *done;
    }
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
      return error(ErrorCode::security, "its process sent a message that is not a call");
    }
    auto result = answer(verb->get<std::string>(), message.value("args", Json::object()));
    if (!result && engine::ends_session(result.error().code)) {
      m_child.kill_and_wait();
      return std::move(result).error();
    }
    WB_TRY(send(reply_to(message["n"], std::move(result))));
  }
}

Result<Json> complete_arguments(const PlaybookMeta& meta, const Json& given) {
  Json args = Json::object();
  std::vector<std::string> known;
  for (const auto& [name, spec] : meta.arguments.items()) {
    known.push_back(name);
    const Json& value = spec["default"];
    const auto whole = whole_number(value);  // 64 / 2 is 32.0 in Lua
    args[name] = value.is_string() ? value.get<std::string>()
                 : whole           ? fmt::to_string(*whole)
                                   : value.dump();
  }
  for (const auto& [name, value] : given.items()) {
    if (!meta.arguments.contains(name)) {
      const std::string near = variant::did_you_mean(name, known);
      return Error{ErrorCode::usage, "start the playbook", meta.name,
                   fmt::format("it has no argument \"{}\"", printable(name)),
                   !near.empty()   ? fmt::format("did you mean {}?", near)
                   : known.empty() ? "it takes no arguments"
                                   : fmt::format("it takes: {}", fmt::join(known, ", "))};
    }
    args[name] = value;
  }
  return args;
}

}  // namespace wb::playbook
