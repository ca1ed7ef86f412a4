// SPDX-License-Identifier: MIT
// The result of each request to and from JSON. docs/contracts/worker_protocol.md lists the same
// fields.
#include <cmath>
#include <limits>

#include "core/json.hpp"
#include "protocol/arguments.hpp"
#include "protocol/protocol.hpp"

namespace wb::protocol {
namespace {

using namespace detail;

/// Free-form members (records, versions) are objects with keys of the sender's choice.
Json read_object(ObjectReader& reader, std::string_view key) {
  const Json* value = reader.member(key);
  if (value == nullptr) return Json::object();
  if (value->is_object()) return *value;
  reader.fail(key, "must be an object");
  return Json::object();
}

problem::OutputVerdict read_verdict(ObjectReader& reader, std::string_view key, const Json& json) {
  Result<problem::OutputVerdict> verdict = problem::output_verdict_from_json(json);
  if (verdict.ok()) return *std::move(verdict);
  reader.fail(key, verdict.error().message());
  return {};
}

std::vector<double> read_samples_us(ObjectReader& reader, std::string_view key = "samples_us") {
  std::vector<double> samples_us;
  const Json* list = reader.member(key);
  if (list == nullptr || !list->is_array() || list->size() > k_max_list) {
    reader.fail(key, "must be a list of at most 65536 numbers");
    return samples_us;
  }
  for (const Json& item : *list) {
    if (!item.is_number() || !std::isfinite(item.get<double>())) {
      reader.fail(key, "must hold finite numbers only");
      break;
    }
    samples_us.push_back(item.get<double>());
  }
  return samples_us;
}

}  // namespace

Json to_json(const HelloResult& message) {
  Json json = {{"version", message.version},
               {"worker_version", message.worker_version},
               {"device", to_json(message.device)},
               {"threads", message.threads},
               {"isolation", message.isolation},
               {"python", message.python},
               {"empty_call_us", message.empty_call_us},
               {"empty_python_call_us", message.empty_python_call_us},
               {"backends", message.backends}};
  if (message.gpu) json["gpu"] = to_json(*message.gpu);
  if (message.cpu_limits) json["cpu_limits"] = to_json(*message.cpu_limits);
  return json;
}

Result<void> from_json(const Json& json, HelloResult& message) {
  ObjectReader reader(json, "the result of hello");
  message.version = static_cast<int>(reader.integer("version", 0, 1'000'000));
  message.worker_version = reader.string("worker_version");
  if (const Json* device_json = reader.member("device"); device_json == nullptr) {
    reader.fail("device", "is missing");
  } else if (Result<device::Device> device = device::device_from_json(*device_json); device.ok()) {
    message.device = *std::move(device);
  } else {
    reader.fail("device", device.error().message());
  }
  message.threads = reader.integer("threads", 1, 4'096);
  message.isolation = reader.string("isolation");
  message.python = reader.string_or("python", "");
  message.empty_call_us = reader.real("empty_call_us");
  message.empty_python_call_us = reader.real_or("empty_python_call_us", 0);
  message.backends = reader.strings_or("backends", {});
  message.gpu.reset();
  if (const Json* gpu = reader.member("gpu")) {
    WB_TRY_ASSIGN(message.gpu, measure::gpu_settings_from_json(*gpu));
  }
  message.cpu_limits.reset();
  if (const Json* limits = reader.member("cpu_limits")) {
    WB_TRY_ASSIGN(message.cpu_limits, device::cpu_limits_from_json(*limits));
  }
  return reader.finish();
}

Json to_json(const HasResult& message) {
  return {{"missing", message.missing}};
}

Result<void> from_json(const Json& json, HasResult& message) {
  ObjectReader reader(json, "the result of has");
  message.missing = reader.strings_or("missing", {});
  return reader.finish();
}

Json to_json(const PutResult& message) {
  return {{"received_bytes", message.received_bytes}, {"complete", message.complete}};
}

Result<void> from_json(const Json& json, PutResult& message) {
  ObjectReader reader(json, "the result of put");
  message.received_bytes = read_count(reader, "received_bytes");
  message.complete = reader.boolean_or("complete", false);
  return reader.finish();
}

Json to_json(const BuildResult& message) {
  return {{"artifact_sha256", message.artifact_sha256}, {"record", message.record}};
}

Result<void> from_json(const Json& json, BuildResult& message) {
  ObjectReader reader(json, "the result of build");
  message.artifact_sha256 = read_sha256(reader, "artifact_sha256");
  message.record = read_object(reader, "record");
  return reader.finish();
}

Json to_json(const LoadResult& message) {
  return {{"handle", message.handle},
          {"pid", message.pid},
          {"load_ms", message.load_ms},
          {"versions", message.versions}};
}

Result<void> from_json(const Json& json, LoadResult& message) {
  ObjectReader reader(json, "the result of load");
  message.handle = read_count(reader, "handle");
  message.pid = read_count(reader, "pid");
  message.load_ms = reader.real("load_ms");
  message.versions = read_object(reader, "versions");
  return reader.finish();
}

Json to_json(const RunResult& message) {
  return {{"seed", message.seed},
          {"verdict", to_json(message.verdict)},
          {"lse_judged", message.lse_judged},
          {"call_ms", message.call_ms}};
}

Result<void> from_json(const Json& json, RunResult& message) {
  ObjectReader reader(json, "the result of run");
  message.seed = static_cast<std::uint32_t>(
      reader.integer("seed", 0, std::numeric_limits<std::uint32_t>::max()));
  if (const Json* verdict = reader.member("verdict"); verdict == nullptr) {
    reader.fail("verdict", "is missing");
  } else {
    message.verdict = read_verdict(reader, "verdict", *verdict);
  }
  message.lse_judged = reader.boolean_or("lse_judged", false);
  message.call_ms = reader.real("call_ms");
  return reader.finish();
}

Json to_json(const VerdictResult& message) {
  Json runs = Json::array();
  for (const auto& [draw, run] : message.runs) {
    runs.push_back({{"draw", to_string(draw)}, {"run", to_json(run)}});
  }
  Json json{{"pass", message.pass}, {"runs", runs}};
  if (message.failure) {
    json["failure"] = {{"invalidity", to_string(message.failure->invalidity)},
                       {"message", without_nul(message.failure->message)},
                       {"untrusted_output", without_nul(message.failure->untrusted_output)}};
  }
  return json;
}

Result<void> from_json(const Json& json, VerdictResult& message) {
  ObjectReader reader(json, "the result of verdict");
  message.pass = reader.boolean_or("pass", false);
  message.runs.clear();
  read_list(reader, "runs", [&message](const Json& item) -> Result<void> {
    ObjectReader item_reader(item, "a run");
    const problem::Draw draw = read_draw(item_reader);
    RunResult run;
    if (const Json* run_json = item_reader.member("run"); run_json == nullptr) {
      item_reader.fail("run", "is missing");
    } else {
      WB_TRY(from_json(*run_json, run));
    }
    WB_TRY(item_reader.finish());
    message.runs.emplace_back(draw, std::move(run));
    return {};
  });
  message.failure.reset();
  if (const Json* failure_json = reader.member("failure"); failure_json != nullptr) {
    ObjectReader failure(*failure_json, "the failure of a drawn run");
    const auto invalidity = parse_invalidity(failure.string("invalidity"));
    if (!invalidity) failure.fail("invalidity", "is not one of the known words");
    const std::string words = failure.string("message");
    const std::string output = failure.string_or("untrusted_output", "");
    WB_TRY(failure.finish());
    message.failure = Failure{*invalidity, words, output};
  }
  return reader.finish();
}

Json to_json(const TurnResult& message) {
  Json json = {{"samples_us", message.samples_us},
               {"calls_per_sample", message.calls_per_sample},
               {"wall_us", message.wall_us},
               {"reported_us", message.reported_us},
               {"flags", message.flags}};
  if (message.conditions) json["conditions"] = to_json(*message.conditions);
  if (message.spot) json["spot"] = to_json(*message.spot);
  if (message.device) json["device"] = to_json(*message.device);
  if (!message.launches.empty()) json["launches"] = to_json(message.launches);
  return json;
}

Result<void> from_json(const Json& json, TurnResult& message) {
  ObjectReader reader(json, "the result of turn");
  message.samples_us = read_samples_us(reader);
  message.calls_per_sample = reader.integer("calls_per_sample", 1, k_max_number);
  message.wall_us = reader.real("wall_us");
  message.reported_us = reader.real("reported_us");
  message.flags = reader.strings_or("flags", {});
  message.conditions.reset();
  if (const Json* conditions = reader.member("conditions")) {
    WB_TRY_ASSIGN(message.conditions, measure::gpu_conditions_from_json(*conditions));
  }
  message.spot.reset();
  if (const Json* spot = reader.member("spot"); spot != nullptr) {
    message.spot = read_verdict(reader, "spot", *spot);
  }
  message.device.reset();
  if (const Json* device = reader.member("device")) {
    WB_TRY_ASSIGN(message.device, device::device_from_json(*device));
  }
  message.launches.clear();
  if (const Json* launches = reader.member("launches")) {
    WB_TRY_ASSIGN(message.launches, measure::launches_from_json(*launches));
  }
  return reader.finish();
}

Json to_json(const FirstCallsResult& message) {
  Json sides = Json::array();
  for (const FirstCallsResult::Side& side : message.sides) {
    sides.push_back({{"fresh_us", side.fresh_us},
                     {"again_us", side.again_us},
                     {"fill_us", side.fill_us},
                     {"overhead_us", side.overhead_us},
                     {"allowance_us", side.allowance_us}});
  }
  Json json{{"chained", message.chained}, {"sides", std::move(sides)}, {"flags", message.flags}};
  if (message.failed && message.failure) {
    json["failed"] = *message.failed;
    json["failure"] = {{"invalidity", to_string(message.failure->invalidity)},
                       {"message", message.failure->message},
                       {"untrusted_output", message.failure->untrusted_output}};
  }
  return json;
}

Result<void> from_json(const Json& json, FirstCallsResult& message) {
  ObjectReader reader(json, "the result of first_calls");
  message.chained = reader.boolean_or("chained", false);
  message.sides.clear();
  read_list(reader, "sides", [&message](const Json& item) -> Result<void> {
    ObjectReader item_reader(item, "a side");
    FirstCallsResult::Side side;
    side.fresh_us = read_samples_us(item_reader, "fresh_us");
    side.again_us = read_samples_us(item_reader, "again_us");
    side.fill_us = read_samples_us(item_reader, "fill_us");
    side.overhead_us = item_reader.real("overhead_us");
    side.allowance_us = item_reader.real("allowance_us");
    WB_TRY(item_reader.finish());
    message.sides.push_back(std::move(side));
    return {};
  });
  message.flags = reader.strings_or("flags", {});
  message.failed.reset();
  message.failure.reset();
  if (reader.member("failed") != nullptr) {
    message.failed = read_count(reader, "failed");
    const Json failure = read_object(reader, "failure");
    ObjectReader failure_reader(failure, "the failure");
    const auto invalidity = parse_invalidity(failure_reader.string("invalidity"));
    Failure& read = message.failure.emplace();
    read.message = failure_reader.string("message");
    read.untrusted_output = failure_reader.string_or("untrusted_output", "");
    if (!invalidity) failure_reader.fail("invalidity", "is no word for a failure");
    WB_TRY(failure_reader.finish());
    read.invalidity = *invalidity;
  }
  return reader.finish();
}

Json to_json(const ProfileResult& message) {
  return {
      {"available", message.available}, {"reason", message.reason}, {"records", message.records}};
}

Result<void> from_json(const Json& json, ProfileResult& message) {
  ObjectReader reader(json, "the result of profile");
  message.available = reader.boolean_or("available", false);
  message.reason = reader.string_or("reason", "");
  message.records = read_object(reader, "records");
  return reader.finish();
}

Json to_json(const CanaryResult& message) {
  return {{"healthy", message.healthy}, {"detail", message.detail}};
}

Result<void> from_json(const Json& json, CanaryResult& message) {
  ObjectReader reader(json, "the result of canary");
  message.healthy = reader.boolean_or("healthy", false);
  message.detail = reader.string_or("detail", "");
  return reader.finish();
}

Json to_json(const StatusResult& message) {
  Json subjects = Json::array();
  for (const StatusResult::Subject& subject : message.subjects) {
    subjects.push_back({{"handle", subject.handle},
                        {"pid", subject.pid},
                        {"subject", subject.subject},
                        {"rss_bytes", subject.rss_bytes}});
  }
  return {{"subjects", subjects},
          {"judge_pid", message.judge_pid},
          {"supervisor_rss_bytes", message.supervisor_rss_bytes}};
}

Result<void> from_json(const Json& json, StatusResult& message) {
  ObjectReader reader(json, "the result of status");
  message.subjects.clear();
  read_list(reader, "subjects", [&message](const Json& item) -> Result<void> {
    ObjectReader item_reader(item, "a subject");
    StatusResult::Subject subject;
    subject.handle = read_count(item_reader, "handle");
    subject.pid = read_count(item_reader, "pid");
    subject.subject = item_reader.string("subject");
    subject.rss_bytes = read_count(item_reader, "rss_bytes");
    WB_TRY(item_reader.finish());
    message.subjects.push_back(std::move(subject));
    return {};
  });
  message.judge_pid = read_count(reader, "judge_pid");
  message.supervisor_rss_bytes = read_count(reader, "supervisor_rss_bytes");
  return reader.finish();
}

}  // namespace wb::protocol
