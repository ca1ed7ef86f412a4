// SPDX-License-Identifier: MIT
// Requests and how they are sent. Replies: evaluation_reply.cpp.
#include "tune/evaluation_exchange.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/hash.hpp"
#include "core/json.hpp"
#include "engine/settings.hpp"
#include "tune/evaluation.hpp"

namespace wb::tune {

using engine::NoiseFloors;
using engine::objective_from_json;
using engine::suite_from_json;
using engine::suite_json;
using search::Ask;
using variant::Configuration;

namespace {

constexpr std::int64_t k_many = 1'000'000;

Error refused(std::string cause) {
  return Error{ErrorCode::invalid, "read", "a request", std::move(cause),
               "both sides must be of one version of the workbench"};
}

Json or_null(const std::optional<Configuration>& configuration) {
  return configuration ? variant::to_json(*configuration) : Json(nullptr);
}

Result<Configuration> read_configuration(const Json& json) {
  if (!json.is_object()) return refused("a configuration is no map");
  Configuration configuration;
  for (const auto& [name, value] : json.items()) {
    const auto whole = whole_number(value);
    if (!whole) return refused("the parameter " + name + " is no integer");
    configuration[name] = *whole;
  }
  return configuration;
}

Json candidate_json(const Candidate& candidate) {
  return {{"kernel", candidate.variant.manifest.name},
          {"files", candidate.variant.files},
          {"configuration", variant::to_json(candidate.configuration)}};
}

Result<Candidate> read_candidate(const Json& json) {
  ObjectReader reader(json, "a candidate");
  const std::string kernel = reader.string("kernel");
  const Json* files = reader.member("files");
  const Json* configuration = reader.member("configuration");
  WB_TRY(reader.finish());
  if (files == nullptr || !files->is_object()) return refused("a candidate has no files");
  std::map<std::string, std::string> texts;
  for (const auto& [name, text] : files->items()) {
    if (!text.is_string()) return refused("the file " + name + " is no text");
    texts[name] = text.get<std::string>();
  }
  Candidate candidate;
  WB_TRY_ASSIGN(candidate.variant, variant::variant_from_files(kernel, std::move(texts)));
  WB_TRY_ASSIGN(candidate.configuration,
                read_configuration(configuration == nullptr ? Json() : *configuration));
  candidate.name = variant::to_text(candidate.configuration);
  return candidate;
}

Json ask_json(const Ask& ask) {
  return {{"configuration", variant::to_json(ask.configuration)},
          {"against", or_null(ask.against)},
          {"stage", ask.stage},
          {"rounds", ask.rounds},
          {"confidence", ask.confidence}};
}

Result<Ask> read_ask(const Json& json) {
  ObjectReader reader(json, "an ask");
  Ask ask;
  ask.stage = reader.integer("stage", 0, k_many);
  ask.rounds = reader.integer("rounds", 1, k_many);
  ask.confidence = reader.real("confidence");
  const Json* configuration = reader.member("configuration");
  const Json* against = reader.member("against");
  if (!(ask.confidence > 0 && ask.confidence < 1)) reader.fail("confidence", "must be in (0, 1)");
  WB_TRY(reader.finish());
  WB_TRY_ASSIGN(ask.configuration,
                read_configuration(configuration == nullptr ? Json() : *configuration));
  if (against != nullptr && !against->is_null()) {
    WB_TRY_ASSIGN(ask.against, read_configuration(*against));
  }
  return ask;
}

Json floors_json(const NoiseFloors& floors) {
  Json list = Json::array();
  for (const auto& [key, floor] : floors) {
    list.push_back({{"problem", key.first}, {"plan", key.second}, {"floor", to_json(floor)}});
  }
  return list;
}

Result<NoiseFloors> read_floors(const Json& json) {
  if (!json.is_array()) return refused("the floors are no list");
  NoiseFloors floors;
  for (const Json& item : json) {
    ObjectReader reader(item, "a floor");
    const std::string problem = reader.string("problem"), plan = reader.string("plan");
    const Json* floor = reader.member("floor");
    WB_TRY(reader.finish());
    WB_TRY_ASSIGN(floors[std::pair(problem, plan)],
                  measure::noise_floor_from_json(floor == nullptr ? Json() : *floor));
  }
  return floors;
}

Json terms_json(const EvaluationTerms& terms) {
  return {{"strategy", to_string(terms.kind)},
          {"placements", terms.placements},
          {"stop_speedup", terms.early_stop.speedup},
          {"stop_min_rounds", terms.early_stop.min_rounds}};
}

Result<EvaluationTerms> read_terms(const Json& json) {
  ObjectReader reader(json, "the terms");
  EvaluationTerms terms;
  const auto kind = search::parse_strategy_kind(reader.string("strategy"));
  if (!kind) reader.fail("strategy", "is unknown here");
  terms.placements = reader.integer("placements", 1, k_many);
  terms.early_stop.speedup = reader.real("stop_speedup");
  terms.early_stop.min_rounds = reader.integer("stop_min_rounds", 0, k_many);
  WB_TRY(reader.finish());
  terms.kind = *kind;
  return terms;
}

}  // namespace

Json to_json(const EvaluationRequest& request) {
  return {{"format", k_evaluation_format},
          {"id", request.id},
          {"workbench_version", request.workbench_version},
          {"backend", request.backend},
          {"device", request.device},
          {"compiler", request.compiler},
          {"suite", suite_json(request.suite)},
          {"objective", to_json(request.objective)},
          {"effort", request.effort},
          {"floors", floors_json(request.floors)},
          {"terms", terms_json(request.terms)},
          {"ask", ask_json(request.ask)},
          {"candidate", candidate_json(request.candidate)},
          {"against", request.against ? candidate_json(*request.against) : Json(nullptr)}};
}

Result<EvaluationRequest> request_from_json(const Json& json) {
  if (!json.is_object()) return refused("a request is a map");
  ObjectReader reader(json, "a request");
  EvaluationRequest request;
  reader.integer("format", k_evaluation_format, k_evaluation_format);
  request.id = reader.string("id");
  request.workbench_version = reader.string("workbench_version");
  request.backend = reader.string("backend");
  request.device = reader.string("device");
  request.compiler = reader.string("compiler");
  request.effort = reader.string("effort");
  std::map<std::string, const Json*> parts;
  for (const char* key : {"suite", "objective", "floors", "terms", "ask", "candidate", "against"}) {
    parts[key] = reader.member(key);
    if (parts[key] == nullptr) reader.fail(key, "is missing");
  }
  WB_TRY(reader.finish());
  WB_TRY_ASSIGN(request.suite, suite_from_json(*parts["suite"]));
  WB_TRY_ASSIGN(request.objective, objective_from_json(*parts["objective"]));
  WB_TRY_ASSIGN(request.floors, read_floors(*parts["floors"]));
  WB_TRY_ASSIGN(request.terms, read_terms(*parts["terms"]));
  WB_TRY_ASSIGN(request.ask, read_ask(*parts["ask"]));
  WB_TRY_ASSIGN(request.candidate, read_candidate(*parts["candidate"]));
  if (!parts["against"]->is_null()) {
    WB_TRY_ASSIGN(request.against, read_candidate(*parts["against"]));
  }
  if (request.against.has_value() != request.ask.against.has_value()) {
    return refused("what it is timed beside is named and not given, or given and not named");
  }
  return request;
}

namespace {

constexpr std::size_t k_fault_max = 2'000;
/// A request without an answer for this long, or for ten times the slowest so far, is given up.
constexpr double k_patience_s = 900, k_patience_times = 10;

}  // namespace

Result<std::int64_t> remote_capacity(const search::AskProgram& ask) {
  if (!ask) return std::int64_t{0};
  WB_TRY_ASSIGN(const Json answer, ask({{"ask", "crew_size"}}));
  ObjectReader reader(answer, "the program's answer");
  const std::int64_t in_flight = reader.integer("in_flight", 0, search::k_in_flight_max);
  WB_TRY(reader.finish(true));
  return in_flight;
}

bool RemoteEvaluator::has_reply(const search::Ask& ask) const {
  const auto found = m_numbers.find(key(ask));
  return found != m_numbers.end() && m_sent.at(found->second).is_back;
}

std::size_t RemoteEvaluator::away() const {
  return static_cast<std::size_t>(std::count_if(
      m_sent.begin(), m_sent.end(), [](const auto& sent) { return !sent.second.is_back; }));
}

Result<void> RemoteEvaluator::send(EvaluationRequest request) {
  const std::int64_t number = m_next++;
  // Unique: it covers the request and its number.
  request.id = sha256_hex(Json{{"number", number}, {"request", to_json(request)}}.dump());
  WB_TRY(m_ask({{"ask", "evaluate"}, {"number", number}, {"request", to_json(request)}}));
  m_numbers[key(request.ask)] = number;
  m_sent[number].at = m_clock.steady_now();
  m_sent[number].request = std::move(request);
  return {};
}

Result<std::vector<const RemoteEvaluator::Sent*>> RemoteEvaluator::collect(
    std::chrono::milliseconds patience) {
  const double patience_s = std::chrono::duration<double>(patience).count();
  WB_TRY_ASSIGN(const Json answer, m_ask({{"ask", "replies"}, {"patience_s", patience_s}}));
  const auto now = m_clock.steady_now();
  const auto since = [&](const Sent& sent) {
    return std::chrono::duration<double>(now - sent.at).count();
  };
  std::vector<const Sent*> came;
  for (const Json& item : answer.value("replies", Json::array())) {
    ObjectReader reader(item, "a reply of the program");
    const std::int64_t number = reader.integer("number", 0, m_next);
    const std::string fault = reader.string_or("fault", "");
    const std::string text = reader.string_or("text", "");
    WB_TRY(reader.finish());
    const auto found = m_sent.find(number);
    if (found == m_sent.end() || found->second.is_back) continue;  // given up before
    Sent& sent = found->second;
    sent.is_back = true;
    came.push_back(&sent);
    if (!fault.empty() || text.empty()) {
      sent.fault = "evaluated elsewhere, it failed: " + printable(fault, k_fault_max);
      continue;
    }
    auto json = parse_json(text, "a reply");
    auto reply = json ? reply_from_json(*json, sent.request, since(sent))
                      : Result<EvaluationReply>(std::move(json).error());
    if (!reply) {
      sent.fault = "a reply was refused: " + reply.error().cause;
      continue;
    }
    sent.reply = *std::move(reply);
    sent.text = text;
    m_slowest_s = std::max(m_slowest_s, since(sent));
  }
  const double limit_s = std::max(k_patience_s, k_patience_times * m_slowest_s);
  for (auto& [number, sent] : m_sent) {
    if (sent.is_back || since(sent) < limit_s) continue;
    sent.is_back = true;
    sent.fault = fmt::format("there was no reply within {:.0f} s", limit_s);
    came.push_back(&sent);
  }
  return came;
}

RemoteEvaluator::Sent RemoteEvaluator::take(const search::Ask& ask) {
  const auto number = m_numbers.find(key(ask));
  Sent sent = std::move(m_sent.at(number->second));
  m_sent.erase(number->second);
  m_numbers.erase(number);
  return sent;
}

Result<void> RemoteEvaluator::cancel() {
  WB_TRY(m_ask({{"ask", "cancel"}}));
  return {};
}

}  // namespace wb::tune
