// SPDX-License-Identifier: MIT
#include "runner/worker_client.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/hash.hpp"
#include "core/json.hpp"

namespace wb::runner {

using variant::Variant;

namespace {

using protocol::Verb;
using std::chrono::milliseconds;

constexpr milliseconds k_short_deadline{10'000};
constexpr milliseconds k_hello_deadline{30'000};
constexpr std::uint64_t k_max_artifact_bytes = 256u << 20;

/// True for requests that may wait behind another session for the device.
bool queues(Verb verb) {
  switch (verb) {
    case Verb::has:
    case Verb::put:
    case Verb::build:
    case Verb::status:
    case Verb::bye:
      return false;
    default:
      return true;
  }
}

Failure environment(std::string message) {
  return Failure{Invalidity::environment, std::move(message), {}};
}

/// The subject's folder is the kernel's own folder with common/ in it: "<name>/rival.py" is sent as
/// "rival.py", "common/x.py" unchanged.
std::string staged_path(const Variant& variant, const std::string& path) {
  const std::string prefix = variant.manifest.name + "/";
  return path.starts_with(prefix) ? path.substr(prefix.size()) : path;
}

}  // namespace

WorkerClient::WorkerClient(std::unique_ptr<Transport> transport)
    : m_transport(std::move(transport)),
      m_description(m_transport ? m_transport->description() : "none") {
  if (m_transport == nullptr) m_gone_reason = "it was never started";
}

WorkerClient::WorkerClient(WorkerClient&&) noexcept = default;

WorkerClient& WorkerClient::operator=(WorkerClient&& other) noexcept {
  if (this != &other) {
    WorkerClient old(std::move(*this));
    m_transport = std::move(other.m_transport);
    m_description = std::move(other.m_description);
    m_gone_reason = std::move(other.m_gone_reason);
    m_next_id = other.m_next_id;
    m_wall_s = std::move(other.m_wall_s);
  }
  return *this;
}

WorkerClient::~WorkerClient() {
  if (m_transport == nullptr) return;
  // No reply is awaited, since closing the wire has the same effect.
  const auto line = to_line(protocol::Request{m_next_id, Verb::bye, Json::object()});
  [[maybe_unused]] const Result<void> sent = m_transport->send(line, milliseconds(100));
  m_transport->close();
}

std::map<protocol::Verb, double> WorkerClient::take_wall_s() {
  return std::exchange(m_wall_s, {});
}

Failure WorkerClient::abandon(std::string reason) {
  if (m_transport != nullptr) m_transport->close();
  m_transport.reset();
  m_gone_reason = std::move(reason);
  return environment(fmt::format("the worker ({}) is gone: {}", m_description, m_gone_reason));
}

Outcome<Json> WorkerClient::exchange(const protocol::Request& message, milliseconds deadline) {
  const std::string line = to_line(message);
  if (line.size() > protocol::k_max_line_bytes) {
    return environment(fmt::format("the {} request has {} bytes, more than a line may have ({})",
                                   to_string(message.verb), line.size(),
                                   protocol::k_max_line_bytes));
  }
  if (const auto sent = m_transport->send(line, deadline); !sent.ok()) {
    return abandon(sent.error().message());
  }
  const Result<std::string> answer = m_transport->receive(deadline);
  if (!answer.ok()) {
    if (answer.error().code == ErrorCode::limit) {
      return abandon(fmt::format("no valid reply to {} within {} ms ({})", to_string(message.verb),
                                 deadline.count(), answer.error().message()));
    }
    return abandon(answer.error().message());
  }
  Result<protocol::Reply> reply = protocol::parse_reply(*answer);
  if (!reply.ok()) return abandon(reply.error().message());
  if (reply->id != message.id) {
    return abandon(fmt::format("it answered request {} when asked {}", reply->id, message.id));
  }
  return std::move(reply->result);
}

Outcome<Json> WorkerClient::request(Verb verb, Json args, milliseconds deadline) {
  if (m_transport == nullptr) {
    return environment(fmt::format("the worker ({}) is gone: {}", m_description, m_gone_reason));
  }
  const auto begin = std::chrono::steady_clock::now();
  Outcome<Json> result = exchange({m_next_id++, verb, std::move(args)},
                                  deadline + (queues(verb) ? k_queue_grace : k_reply_grace));
  m_wall_s[verb] += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return result;
}

template <typename Answer>
Outcome<Answer> WorkerClient::ask(Verb verb, Json args, milliseconds deadline) {
  Outcome<Json> json = request(verb, std::move(args), deadline);
  if (!json.ok()) return std::move(json).error();
  Answer answer;
  if (const auto read = from_json(*json, answer); !read.ok()) {
    return abandon(read.error().message());
  }
  return answer;
}

Outcome<protocol::HelloResult> WorkerClient::hello(const protocol::HelloArgs& args) {
  auto answer = ask<protocol::HelloResult>(Verb::hello, to_json(args), k_hello_deadline);
  if (answer.ok() && answer->version != protocol::k_version) {
    return abandon(
        fmt::format("it speaks protocol {}, this program {}; use sdpa-wb and "
                    "sdpa-wb-worker of the same release",
                    answer->version, protocol::k_version));
  }
  return answer;
}

Outcome<void> WorkerClient::put(const std::string& sha256, std::string_view bytes) {
  std::size_t offset = 0;
  do {
    const std::string_view chunk = bytes.substr(offset, protocol::k_put_chunk_bytes);
    protocol::PutArgs args;
    args.sha256 = sha256;
    args.offset = static_cast<std::int64_t>(offset);
    args.total_bytes = static_cast<std::int64_t>(bytes.size());
    args.data_base64 = protocol::base64_encode(chunk);
    const auto answer = ask<protocol::PutResult>(Verb::put, to_json(args), k_short_deadline);
    if (!answer.ok()) return answer.error();
    offset += chunk.size();
    const bool last = offset == bytes.size();
    if (answer->received_bytes != static_cast<std::int64_t>(offset) || answer->complete != last) {
      return abandon(fmt::format("it counted {} bytes of file {} when {} were sent",
                                 answer->received_bytes, short_hash(sha256), offset));
    }
  } while (offset < bytes.size());
  return {};
}

Outcome<void> WorkerClient::stage(const std::vector<Staged>& files) {
  protocol::HasArgs args;
  for (const Staged& file : files) args.sha256.push_back(file.sha256);
  const auto has = ask<protocol::HasResult>(Verb::has, to_json(args), k_short_deadline);
  if (!has.ok()) return has.error();
  for (const std::string& missing : has->missing) {
    const auto file = std::find_if(files.begin(), files.end(),
                                   [&](const Staged& one) { return one.sha256 == missing; });
    if (file == files.end()) {
      return abandon(
          fmt::format("it misses file {}, which it was not asked for", printable(missing, 16)));
    }
    const Result<std::string> bytes = file->read();
    if (!bytes.ok()) return environment(bytes.error().message());
    if (auto sent = put(missing, *bytes); !sent.ok()) return sent;
  }
  return {};
}

Outcome<protocol::LoadResult> WorkerClient::load(const Variant& variant,
                                                 const variant::Artifact& artifact,
                                                 milliseconds deadline) {
  protocol::LoadArgs args;
  args.deadline_ms = deadline.count();
  // The log's label, since configurations of one variant differ only in their artifacts.
  args.subject =
      artifact.id.empty() ? label(variant) : variant.manifest.name + "@" + short_hash(artifact.id);
  args.backend = std::string(to_string(variant.manifest.backend));
  std::vector<Staged> files;
  if (variant.manifest.backend == variant::Backend::python) {
    args.entry = variant.manifest.entry;
    m_python_announced = std::max<std::int64_t>(m_python_announced - 1, 0);
    args.python_follows = m_python_announced;
    for (const auto& [path, bytes] : variant.files) {
      args.files.push_back({staged_path(variant, path), sha256_hex(bytes)});
      files.push_back(
          {args.files.back().sha256, [&text = bytes]() -> Result<std::string> { return text; }});
    }
  } else {
    args.artifact_sha256 = artifact.content_sha256;
    args.build_id = artifact.id;
    files.push_back({artifact.content_sha256, [&artifact] {
                       return RealFileSystem().read(artifact.path, k_max_artifact_bytes);
                     }});
  }
  if (auto staged = stage(files); !staged.ok()) return std::move(staged).error();
  return ask<protocol::LoadResult>(Verb::load, to_json(args), deadline);
}

Outcome<protocol::RunResult> WorkerClient::run(const protocol::RunArgs& args) {
  return ask<protocol::RunResult>(Verb::run, to_json(args), milliseconds(args.deadline_ms));
}

Outcome<protocol::VerdictResult> WorkerClient::verdict(const protocol::VerdictArgs& args) {
  return ask<protocol::VerdictResult>(Verb::verdict, to_json(args), milliseconds(args.deadline_ms));
}

Outcome<protocol::TurnResult> WorkerClient::turn(const protocol::TurnArgs& args) {
  return ask<protocol::TurnResult>(Verb::turn, to_json(args), milliseconds(args.deadline_ms));
}

Outcome<protocol::FirstCallsResult> WorkerClient::first_calls(
    const protocol::FirstCallsArgs& args) {
  return ask<protocol::FirstCallsResult>(Verb::first_calls, to_json(args),
                                         milliseconds(args.deadline_ms));
}

Outcome<protocol::ProfileResult> WorkerClient::profile(const protocol::ProfileArgs& args) {
  return ask<protocol::ProfileResult>(Verb::profile, to_json(args), milliseconds(args.deadline_ms));
}

Outcome<void> WorkerClient::unload(std::int64_t handle) {
  const Outcome<Json> answer = request(Verb::unload, {{"handle", handle}}, k_short_deadline);
  if (!answer.ok()) return answer.error();
  return {};
}

Outcome<protocol::CanaryResult> WorkerClient::canary() {
  return ask<protocol::CanaryResult>(Verb::canary, Json::object(), k_hello_deadline);
}

Outcome<protocol::StatusResult> WorkerClient::status() {
  return ask<protocol::StatusResult>(Verb::status, Json::object(), k_short_deadline);
}

Outcome<protocol::BuildResult> WorkerClient::build(const Variant& variant,
                                                   const variant::Configuration& configuration,
                                                   std::string_view build_id,
                                                   const variant::BuildOptions& options) {
  if (!options.allowed_includes.empty()) {
    return environment(
        "include folders granted by path exist on this machine only; build here, or without them");
  }
  protocol::BuildArgs args;
  args.variant_name = variant.manifest.name;
  args.build_id = std::string(build_id);
  args.target = options.target;
  args.configuration.assign(configuration.begin(), configuration.end());
  args.deadline_ms = std::chrono::duration_cast<milliseconds>(options.deadline).count();
  std::vector<Staged> files;
  for (const auto& [path, bytes] : variant.files) {
    args.files.push_back({path, sha256_hex(bytes)});
    files.push_back(
        {args.files.back().sha256, [&text = bytes]() -> Result<std::string> { return text; }});
  }
  if (auto staged = stage(files); !staged.ok()) return std::move(staged).error();
  return ask<protocol::BuildResult>(Verb::build, to_json(args), milliseconds(args.deadline_ms));
}

}  // namespace wb::runner
