// SPDX-License-Identifier: MIT
#include "playbook/fake_engine.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "problem/problem.hpp"

namespace wb::playbook {
namespace {

constexpr std::string_view k_stop_reason = "budget: dry run";
/// A busy machine can leave an iteration without a figure; a playbook must live with that too.
constexpr std::int64_t k_undecided_every = 3;

Json interval_around(double speedup) {
  return {{"low", speedup * 0.98}, {"high", speedup * 1.02}, {"confidence", 0.99}};
}

/// The brief of a session in which nothing was worth telling: every field is there.
Json plain_brief(bool closed, const std::string& incumbent, std::int64_t iteration) {
  Json brief{{"session", "dry-run"},
             {"status", closed ? "closed" : "open"},
             {"title", "dry run"},
             {"objective", Json::object()},
             {"incumbent", {{"variant", incumbent}, {"over_start", nullptr}}},
             {"budget", {{"evaluations", iteration}, {"evaluations_left", nullptr}}},
             {"in_flight", nullptr},
             {"left_out", Json::object()}};
  for (const char* list : {"last", "refuted", "techniques", "rivals", "next", "notes", "untried"}) {
    brief[list] = Json::array();
  }
  return brief;
}

}  // namespace

std::string_view to_string(Course course) {
  switch (course) {
    case Course::mixed:
      return "mixed";
    case Course::winning:
      return "winning";
    case Course::failing:
      return "failing";
    case Course::stopped:
      return "stopped";
  }
  return "mixed";
}

FakeEngine::FakeEngine(engine::Engine& engine, Options options)
    : m_engine(engine),
      m_options(std::move(options)),
      m_random(m_options.seed),
      m_incumbent(m_options.start + "@00000000") {
  if (m_options.course == Course::stopped) m_options.evaluations = 0;
  m_labels.insert(m_incumbent);
}

double FakeEngine::draw_speedup() {
  if (m_options.course == Course::winning) {
    return 1.1 + 0.5 * static_cast<double>(m_random() >> 11) * 0x1p-53;
  }
  return 0.8 + 0.8 * static_cast<double>(m_random() >> 11) * 0x1p-53;
}

Result<Json> FakeEngine::measured_rows(const std::string& texts) {
  Json rows = Json::array();
  if (texts.empty()) return rows;  // a suite is named
  WB_TRY_ASSIGN(const auto problems, problem::parse_problems(texts));
  for (const problem::Problem& problem : problems) {
    Json row{{"problem", label(problem)}, {"outcome", "runtime"},   {"message", "dry run"},
             {"median_us", nullptr},      {"interval_us", nullptr}, {"gflop_per_s", nullptr}};
    if (m_options.course != Course::failing) {
      const double median_us = 100 * draw_speedup();
      row.update({{"outcome", "measured"},
                  {"median_us", median_us},
                  {"interval_us", interval_around(median_us)},
                  {"gflop_per_s", problem::work(problem).flops / median_us * 1e-3}});
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

Result<std::string> FakeEngine::misfit(const std::string& variant, const Json& configuration) {
  const std::string name = variant.substr(0, variant.find('@'));
  const bool is_label = name.size() != variant.size();
  if (is_label && !m_labels.contains(variant)) {
    return Error{ErrorCode::not_found, "find the variant", variant,
                 "no iteration of this session built it", "name a kernel, or a label of an answer"};
  }
  auto row = m_engine.call("kernels", {{"name", name}});
  if (!row && is_label) return std::string();  // a derived variant: in the session only
  if (!row) return std::move(row).error();
  const Json parameters = (*row)["kernels"].at(0).value("parameters", Json::object());
  for (const auto& [parameter, value] : configuration.items()) {
    const auto values = parameters.find(parameter);
    if (values == parameters.end()) return fmt::format("{} has no parameter {}", name, parameter);
    if (std::find(values->begin(), values->end(), value) == values->end()) {
      return fmt::format("{} = {} is not in {}", parameter, value.dump(), values->dump());
    }
  }
  return std::string();
}

Json FakeEngine::stopped_answer() const {
  return {{"iteration", nullptr},        {"outcome", "stopped"},
          {"invalidity", nullptr},       {"message", "no further iteration"},
          {"speedup", nullptr},          {"interval", nullptr},
          {"decision", "undecided"},     {"variant", ""},
          {"incumbent", m_incumbent},    {"problems", Json::array()},
          {"stop_reason", k_stop_reason}};
}

Result<Json> FakeEngine::iterate(const Json& args) {
  if (m_iteration >= m_options.evaluations) return stopped_answer();
  const std::string parent = args.value("parent", m_incumbent);
  const std::string variant = args.value("variant", parent);
  WB_TRY_ASSIGN(std::string fault, misfit(variant, args.value("configuration", Json::object())));
  std::string_view invalidity = "constraints";
  if (fault.empty() && m_options.course == Course::failing) {
    fault = "dry run: every iteration fails";
    invalidity = "correctness";
  }
  const std::int64_t number = ++m_iteration;
  const std::string name = args.value("name", variant.substr(0, variant.find('@')));
  const std::string label = fmt::format("{}@{:08x}", name, number);
  m_labels.insert(label);
  Json answer{{"iteration", number},
              {"invalidity", nullptr},
              {"variant", label},
              {"problems", Json::array()},
              {"stop_reason", nullptr}};
  if (number >= m_options.evaluations) answer["stop_reason"] = k_stop_reason;
  if (!fault.empty()) {
    answer.update({{"outcome", "invalid"},
                   {"invalidity", invalidity},
                   {"message", fault},
                   {"speedup", nullptr},
                   {"interval", nullptr},
                   {"decision", "undecided"},
                   {"incumbent", m_incumbent}});
    return answer;
  }
  const double speedup = draw_speedup();
  if (number % k_undecided_every == 0 && m_options.course == Course::mixed) {
    answer.update({{"outcome", "no_gain"},
                   {"message", "dry run: no figure could be taken"},
                   {"speedup", nullptr},
                   {"interval", nullptr},
                   {"decision", "undecided"},
                   {"incumbent", m_incumbent}});
    return answer;
  }
  const bool win = speedup > 1.05;
  const double predicted = args["predicted_speedup"].get<double>();
  if (win) m_incumbent = label;
  answer.update({{"outcome", win ? "win" : "no_gain"},
                 {"message", "dry run: nothing was measured"},
                 {"speedup", speedup},
                 {"interval", interval_around(speedup)},
                 {"decision", win && speedup * 1.02 >= predicted ? "supported" : "refuted"},
                 {"incumbent", m_incumbent}});
  return answer;
}

Result<Json> FakeEngine::tune(const Json& args) {
  WB_TRY_ASSIGN(Json answer, iterate(args));
  const bool has_rows = answer["outcome"] != "stopped";
  answer.update({{"configuration", nullptr},
                 {"evaluations", Json::array()},
                 {"tune", has_rows ? Json{{"told", 1}, {"valid", 1}} : Json(nullptr)}});
  if (!has_rows || answer["outcome"] == "invalid") return answer;
  const std::string variant = args.value("variant", m_incumbent);
  const std::string name = variant.substr(0, variant.find('@'));
  auto row = m_engine.call("kernels", {{"name", name}});
  answer["configuration"] =
      row ? (*row)["kernels"].at(0).value("defaults", Json::object()) : Json::object();
  answer["evaluations"].push_back({{"variant", name},
                                   {"configuration", answer["configuration"]},
                                   {"outcome", "same"},
                                   {"speedup", 1.0},
                                   {"interval", nullptr},
                                   {"duplicate", false},
                                   {"message", ""}});
  return answer;
}

/// Like a tune of the first one.
Result<Json> FakeEngine::race(Json args) {
  const Json variants = args["variants"];
  if (variants.size() < 2) {
    return Error{ErrorCode::usage, "race", variants.dump(), "a race has 2 variants at least", ""};
  }
  args["variant"] = variants.at(0);
  args.erase("variants");
  return tune(args);
}

Result<Json> FakeEngine::compare(const Json& args) {
  std::vector<std::string> others{args["against"].get<std::string>()};
  for (const Json& other : args.value("others", Json::array())) {
    others.push_back(other.get<std::string>());
  }
  const std::string candidate = args["candidate"].get<std::string>();
  WB_TRY_ASSIGN(const std::string fault,
                misfit(candidate, args.value("configuration", Json::object())));
  if (!fault.empty()) return Error{ErrorCode::invalid, "compare", candidate, fault, ""};
  for (const std::string& other : others) WB_TRY(misfit(other, Json::object()));
  const double speedup = draw_speedup();
  const std::string_view outcome = speedup > 1.05 ? "faster" : "slower";
  Json rows = Json::array();
  if (const std::string texts = args.value("problem", std::string()); !texts.empty()) {
    WB_TRY_ASSIGN(const auto problems, problem::parse_problems(texts));
    for (const problem::Problem& problem : problems) {
      for (std::size_t i = 0; i < others.size(); ++i) {
        // The first is the fastest.
        const double ratio = speedup * static_cast<double>(i + 1);
        rows.push_back({{"problem", label(problem)},
                        {"candidate", candidate},
                        {"against", others[i]},
                        {"speedup", ratio},
                        {"interval", interval_around(ratio)},
                        {"outcome", outcome},
                        {"candidate_us", 100.0},
                        {"against_us", 100.0 * ratio},
                        {"fastest", i == 0}});
      }
    }
  }
  return Json{{"outcome", outcome},
              {"speedup", speedup},
              {"interval", interval_around(speedup)},
              {"problems", std::move(rows)},
              {"notes", Json::array()}};
}

Result<Json> FakeEngine::propose(const Json& args) {
  const bool stopped = m_iteration >= m_options.evaluations;
  const bool fails = m_options.course == Course::failing;
  const std::string parent = args.value("parent", m_incumbent);
  if (!args.contains("files") && !args.contains("edits") && !args.contains("configuration")) {
    return Error{ErrorCode::usage, "propose", "a variant", "nothing of it is new", ""};
  }
  const std::string label =
      fmt::format("{}@{:08x}", args.value("name", parent.substr(0, parent.find('@'))),
                  0x10000000 + m_labels.size());
  if (!stopped) m_labels.insert(label);
  return Json{{"pass", !stopped && !fails},
              {"outcome", stopped ? "stopped"
                          : fails ? "compile"
                                  : "pass"},
              {"message", "dry run"},
              {"variant", stopped ? "" : label},
              {"variant_id", ""},
              {"parent", parent},
              {"cached", false},
              {"worst_share", nullptr},
              {"problems", Json::array()},
              {"compiler_output", ""},
              {"output_ref", nullptr},
              {"spill_bytes", 0},
              {"stop_reason", stopped ? Json(k_stop_reason) : Json(nullptr)}};
}

Result<Json> FakeEngine::propose_many(const Json& args) {
  Json answer{{"passed", 0}, {"rows", Json::array()}, {"stop_reason", nullptr}};
  for (const Json& item : args["proposals"]) {
    WB_TRY_ASSIGN(Json row, propose(item));
    answer["passed"] = answer["passed"].get<int>() + (row["pass"].get<bool>() ? 1 : 0);
    answer["stop_reason"] = row["stop_reason"];
    row["rank"] = row["proposal"] = answer["rows"].size() + 1;
    answer["rows"].push_back(std::move(row));
  }
  return answer;
}

Json FakeEngine::usage(const Json& args) {
  const auto tokens =
      args["input_tokens"].get<std::int64_t>() + args["output_tokens"].get<std::int64_t>();
  m_tokens += tokens;
  return {{"event", m_calls.size()},  {"tokens", tokens},     {"usd", nullptr},
          {"total_tokens", m_tokens}, {"total_usd", nullptr}, {"stop_reason", nullptr},
          {"warning", nullptr}};
}

Result<Json> FakeEngine::answer(const std::string& name, const Json& args) {
  const engine::VerbSpec* verb = engine::find_verb(name);
  if (verb == nullptr || !verb->in_playbook) {
    return Error{ErrorCode::usage, "call the verb", name, "playbooks do not have it", ""};
  }
  WB_TRY_ASSIGN(const Json checked, engine::check_arguments(*verb, args));
  m_calls.push_back({{"verb", name}, {"args", checked}});
  if (name == "best") {
    // The rules, without asking a worker for the device.
    Json asked = checked;
    if (!asked.contains("device")) asked["device"] = "dry run";
    return m_engine.call(name, asked);
  }
  if (verb->session == engine::SessionNeed::none) return m_engine.call(name, checked);
  if (m_closed && !verb->reads_only) {
    return Error{ErrorCode::invalid, "call", name, "the session is closed", "call close last"};
  }
  if (name == "iterate") return iterate(checked);
  if (name == "tune") return tune(checked);
  if (name == "race") return race(checked);
  if (name == "note" || name == "record_decision") return Json{{"event", m_calls.size()}};
  if (name == "check" || name == "measure") {
    const std::string variant = checked["variant"].get<std::string>();
    WB_TRY(misfit(variant, Json::object()));
    Json answer{{"variant", variant}, {"problems", Json::array()}};
    if (name == "measure") {
      WB_TRY_ASSIGN(answer["problems"], measured_rows(checked.value("problem", std::string())));
      answer["notes"] = Json::array();
    }
    if (name == "check") answer["pass"] = m_options.course != Course::failing;
    return answer;
  }
  if (name == "compare") return compare(checked);
  if (name == "remeasure_floor") {
    return Json{{"fit", true}, {"floors", Json::array()}, {"text", "dry run"}};
  }
  if (name == "status") {
    return Json{
        {"status", m_closed ? "closed" : "open"},
        {"iterations", m_iteration + 1},
        {"incumbent", m_incumbent},
        {"best_speedup", nullptr},
        {"cost", Json::object()},
        {"stop_reason", m_iteration >= m_options.evaluations ? Json(k_stop_reason) : Json(nullptr)},
        {"warning", nullptr},
        {"text", "dry run"}};
  }
  if (name == "diagnose") {
    return Json{{"subject", m_incumbent},    {"plan", "hot"},
                {"causes", Json::array()},   {"start", nullptr},
                {"measured", Json::array()}, {"gaps", Json::array()},
                {"text", "dry run"}};
  }
  if (name == "brief") return plain_brief(m_closed, m_incumbent, m_iteration);
  if (name == "history") {
    return Json{{"matches", Json::array()}, {"total", 0}, {"text", "dry run"}};
  }
  if (name == "propose") return propose(checked);
  if (name == "propose_many") return propose_many(checked);
  if (name == "record_usage") return usage(checked);
  if (name == "read_ref") {
    return Json{{"ref", checked["ref"]},
                {"offset", 0},
                {"text", "dry run"},
                {"next_offset", nullptr},
                {"total_bytes", 7}};
  }
  if (name == "close") {
    m_closed = true;
    return Json{{"session", "dry-run"}, {"report", ""}, {"commit", ""}};
  }
  return Json{{"text", "dry run"}, {"kind", "event"}, {"value", Json::object()}};
}

}  // namespace wb::playbook
