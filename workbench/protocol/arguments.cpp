// SPDX-License-Identifier: MIT
// The arguments of each request to and from JSON. docs/contracts/worker_protocol.md lists the same
// fields.
#include "protocol/arguments.hpp"

#include <algorithm>

#include "core/files.hpp"
#include "core/hash.hpp"
#include "core/json.hpp"
#include "protocol/protocol.hpp"

namespace wb::protocol {
namespace detail {

std::string read_sha256(ObjectReader& reader, std::string_view key) {
  std::string hex = reader.string(key);
  if (!is_sha256(hex)) reader.fail(key, "must be 64 lower-case hex digits");
  return hex;
}

problem::Problem read_problem(ObjectReader& reader) {
  const Json* json = reader.member("problem");
  if (json == nullptr) {
    reader.fail("problem", "is missing");
    return {};
  }
  Result<problem::Problem> problem = problem::problem_from_json(*json, "the problem");
  if (problem.ok()) return *std::move(problem);
  reader.fail("problem", problem.error().message());
  return {};
}

problem::Draw read_draw(ObjectReader& reader) {
  const auto draw = problem::parse_draw(reader.string_or("draw", "normal"));
  if (!draw) reader.fail("draw", "must be normal, large or edge");
  return draw.value_or(problem::Draw::normal);
}

std::string without_nul(std::string text) {
  std::replace(text.begin(), text.end(), '\0', '?');
  return text;
}

Json file_refs_to_json(const std::vector<FileRef>& files) {
  Json list = Json::array();
  for (const FileRef& file : files) list.push_back({{"path", file.path}, {"sha256", file.sha256}});
  return list;
}

std::vector<FileRef> read_file_refs(ObjectReader& reader) {
  std::vector<FileRef> files;
  read_list(reader, "files", [&files](const Json& item) -> Result<void> {
    ObjectReader file_reader(item, "a file");
    FileRef file;
    file.path = file_reader.string("path");
    file.sha256 = read_sha256(file_reader, "sha256");
    if (!is_inside(file.path)) file_reader.fail("path", "must stay inside the folder");
    WB_TRY(file_reader.finish());
    files.push_back(std::move(file));
    return {};
  });
  return files;
}

}  // namespace detail

using namespace detail;

Json to_json(const HelloArgs& message) {
  return {{"version", message.version}, {"python", message.python},
          {"cpu_set", message.cpu_set}, {"threads", message.threads},
          {"gpu", message.gpu},         {"isolation", message.isolation},
          {"lock", message.lock}};
}

Result<void> from_json(const Json& json, HelloArgs& message) {
  ObjectReader reader(json, "hello");
  message.version = static_cast<int>(reader.integer("version", 0, 1'000'000));
  message.python = reader.string_or("python", "");
  message.cpu_set = reader.string_or("cpu_set", "");
  message.threads = reader.integer_or("threads", 0, 0, 4'096);
  message.gpu = reader.integer_or("gpu", -1, -1, 4'096);
  message.isolation = reader.string_or("isolation", "");
  message.lock = reader.string_or("lock", "");
  return reader.finish();
}

Json to_json(const HasArgs& message) {
  return {{"sha256", message.sha256}};
}

Result<void> from_json(const Json& json, HasArgs& message) {
  ObjectReader reader(json, "has");
  message.sha256 = reader.strings_or("sha256", {});
  if (!std::all_of(message.sha256.begin(), message.sha256.end(), is_sha256)) {
    reader.fail("sha256", "must hold 64 lower-case hex digits each");
  }
  return reader.finish();
}

Json to_json(const PutArgs& message) {
  return {{"sha256", message.sha256},
          {"offset", message.offset},
          {"total_bytes", message.total_bytes},
          {"data_base64", message.data_base64}};
}

Result<void> from_json(const Json& json, PutArgs& message) {
  ObjectReader reader(json, "put");
  message.sha256 = read_sha256(reader, "sha256");
  message.offset = read_count(reader, "offset");
  message.total_bytes = read_count(reader, "total_bytes");
  message.data_base64 = reader.string("data_base64");
  return reader.finish();
}

Json to_json(const BuildArgs& message) {
  Json configuration = Json::object();
  for (const auto& [name, value] : message.configuration) configuration[name] = value;
  return {{"variant_name", message.variant_name},
          {"build_id", message.build_id},
          {"target", message.target},
          {"files", file_refs_to_json(message.files)},
          {"configuration", configuration},
          {"deadline_ms", message.deadline_ms}};
}

Result<void> from_json(const Json& json, BuildArgs& message) {
  ObjectReader reader(json, "build");
  message.variant_name = reader.string("variant_name");
  message.build_id = reader.string("build_id");
  message.target = reader.string("target");
  message.files = read_file_refs(reader);
  message.configuration.clear();
  const Json* configuration = reader.member("configuration");
  if (configuration != nullptr && !configuration->is_object()) {
    reader.fail("configuration", "must be an object of integers");
  } else if (configuration != nullptr) {
    ObjectReader values(*configuration, "the configuration");
    for (const auto& [name, value] : configuration->items()) {
      message.configuration.emplace_back(name, values.integer(name, -k_max_number, k_max_number));
    }
    if (const auto all = values.finish(); !all.ok()) {
      reader.fail("configuration", all.error().message());
    }
  }
  message.deadline_ms = read_deadline_ms(reader, message.deadline_ms);
  return reader.finish();
}

Json to_json(const LoadArgs& message) {
  return {{"subject", message.subject},
          {"backend", message.backend},
          {"artifact_sha256", message.artifact_sha256},
          {"build_id", message.build_id},
          {"entry", message.entry},
          {"files", file_refs_to_json(message.files)},
          {"python_follows", message.python_follows},
          {"deadline_ms", message.deadline_ms}};
}

Result<void> from_json(const Json& json, LoadArgs& message) {
  ObjectReader reader(json, "load");
  message.subject = reader.string("subject");
  message.backend = reader.string("backend");
  message.artifact_sha256 = reader.string_or("artifact_sha256", "");
  if (!message.artifact_sha256.empty() && !is_sha256(message.artifact_sha256)) {
    reader.fail("artifact_sha256", "must be 64 lower-case hex digits or empty");
  }
  message.build_id = reader.string_or("build_id", "");
  message.entry = reader.string_or("entry", "");
  message.files = read_file_refs(reader);
  message.python_follows = reader.integer_or("python_follows", 0, 0, 1'000);
  message.deadline_ms = read_deadline_ms(reader, message.deadline_ms);
  return reader.finish();
}

Json to_json(const RunArgs& message) {
  Json json{{"handle", message.handle},
            {"problem", to_json(message.problem)},
            {"draw", to_string(message.draw)},
            {"want_lse", message.want_lse},
            {"deadline_ms", message.deadline_ms}};
  if (message.max_blocks) json["max_blocks"] = *message.max_blocks;
  if (message.form != problem::CallForm()) json["form"] = to_json(message.form);
  return json;
}

Result<void> from_json(const Json& json, RunArgs& message) {
  ObjectReader reader(json, "run");
  message.handle = read_count(reader, "handle");
  message.problem = read_problem(reader);
  message.draw = read_draw(reader);
  message.want_lse = reader.boolean_or("want_lse", true);
  if (reader.member("max_blocks") != nullptr) {
    message.max_blocks = reader.integer("max_blocks", 1, k_max_number);
  }
  message.form = {};
  if (const Json* form_json = reader.member("form"); form_json != nullptr) {
    auto form = problem::call_form_from_json(*form_json);
    if (form.ok()) {
      message.form = *std::move(form);
    } else {
      reader.fail("form", form.error().message());
    }
  }
  message.deadline_ms = read_deadline_ms(reader, message.deadline_ms);
  return reader.finish();
}

Json to_json(const VerdictArgs& message) {
  Json json{{"handle", message.handle},
            {"problem", to_json(message.problem)},
            {"want_lse", message.want_lse},
            {"rows_without_keys", message.rows_without_keys},
            {"deadline_ms", message.deadline_ms}};
  for (const RunArgs& run : message.drawn) json["drawn"].push_back(to_json(run));
  return json;
}

Result<void> from_json(const Json& json, VerdictArgs& message) {
  ObjectReader reader(json, "verdict");
  message.handle = read_count(reader, "handle");
  message.problem = read_problem(reader);
  message.want_lse = reader.boolean_or("want_lse", true);
  message.rows_without_keys = reader.boolean_or("rows_without_keys", true);
  message.drawn.clear();
  read_list(reader, "drawn", [&message](const Json& item) -> Result<void> {
    return from_json(item, message.drawn.emplace_back());
  });
  message.deadline_ms = read_deadline_ms(reader, message.deadline_ms);
  return reader.finish();
}

Json to_json(const ProfileArgs& message) {
  return {{"handle", message.handle},
          {"problem", to_json(message.problem)},
          {"tool", message.tool},
          {"deadline_ms", message.deadline_ms}};
}

Result<void> from_json(const Json& json, ProfileArgs& message) {
  ObjectReader reader(json, "profile");
  message.handle = read_count(reader, "handle");
  message.problem = read_problem(reader);
  message.tool = reader.string_or("tool", "ncu");
  const auto& tools = k_inspection_tools;
  if (message.tool != k_kernel_names_tool &&
      std::find(tools.begin(), tools.end(), message.tool) == tools.end()) {
    reader.fail("tool",
                "is none of ncu, memcheck, racecheck, initcheck, synccheck and torch.profiler");
  }
  message.deadline_ms = read_deadline_ms(reader, message.deadline_ms);
  return reader.finish();
}

namespace {

measure::Plan read_plan(ObjectReader& reader) {
  const Json* json = reader.member("plan");
  if (json == nullptr) {
    reader.fail("plan", "is missing");
    return {};
  }
  const Result<measure::Plan> plan = measure::plan_from_json(*json);
  if (plan.ok()) return *plan;
  reader.fail("plan", plan.error().message());
  return {};
}

}  // namespace

Json to_json(const TurnArgs& message) {
  return {{"handle", message.handle},          {"problem", to_json(message.problem)},
          {"plan", to_json(message.plan)},     {"placement", message.placement},
          {"spot_check", message.spot_check},  {"fresh_calls", message.fresh_calls},
          {"deadline_ms", message.deadline_ms}};
}

Result<void> from_json(const Json& json, TurnArgs& message) {
  ObjectReader reader(json, "turn");
  message.handle = read_count(reader, "handle");
  message.problem = read_problem(reader);
  message.plan = read_plan(reader);
  message.placement = reader.integer_or("placement", 0, 0, k_max_number);
  message.spot_check = reader.boolean_or("spot_check", true);
  message.fresh_calls = reader.boolean_or("fresh_calls", true);
  message.deadline_ms = read_deadline_ms(reader, message.deadline_ms);
  return reader.finish();
}

Json to_json(const FirstCallsArgs& message) {
  return {{"handles", message.handles},     {"problem", to_json(message.problem)},
          {"plan", to_json(message.plan)},  {"placement", message.placement},
          {"least", message.least},         {"most", message.most},
          {"budget_us", message.budget_us}, {"deadline_ms", message.deadline_ms}};
}

Result<void> from_json(const Json& json, FirstCallsArgs& message) {
  constexpr std::size_t k_most_subjects = 64;
  constexpr std::int64_t k_most_rounds = 1'000;
  ObjectReader reader(json, "first_calls");
  const Json* handles = reader.member("handles");
  message.handles.clear();
  if (handles == nullptr || !handles->is_array() || handles->size() < 2 ||
      handles->size() > k_most_subjects) {
    reader.fail("handles", "must be a list of 2 to 64 handles");
  } else {
    for (const Json& handle : *handles) {
      if (!handle.is_number_integer() || handle.get<std::int64_t>() < 0) {
        reader.fail("handles", "must be a list of 2 to 64 handles");
        break;
      }
      message.handles.push_back(handle.get<std::int64_t>());
    }
  }
  message.problem = read_problem(reader);
  message.plan = read_plan(reader);
  message.placement = reader.integer_or("placement", 0, 0, k_max_number);
  message.least = reader.integer_or("least", message.least, 1, k_most_rounds);
  message.most = reader.integer_or("most", message.most, message.least, k_most_rounds);
  message.budget_us = reader.real_or("budget_us", message.budget_us);
  if (!(message.budget_us >= 0)) reader.fail("budget_us", "must not be negative");
  message.deadline_ms = read_deadline_ms(reader, message.deadline_ms);
  return reader.finish();
}

}  // namespace wb::protocol
