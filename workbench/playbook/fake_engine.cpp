// SPDX-License-Identifier: MIT
#include "playbook/fake_engine.hpp"

#include <fmt/format.h>

namespace wb {
namespace {

Json interval_around(double speedup) {
  return {{"low", speedup * 0.98}, {"high", speedup * 1.02}, {"confidence", 0.99}};
}

}  // namespace

FakeEngine::FakeEngine(Engine& engine, std::uint64_t seed, std::int64_t evaluations)
    : m_engine(engine), m_random(seed), m_evaluations(evaluations) {}

Json FakeEngine::iterate(const Json& args) {
  if (m_iteration >= m_evaluations) {
    return {{"iteration", nullptr},
            {"outcome", "stopped"},
            {"invalidity", nullptr},
            {"message", "no further iteration"},
            {"speedup", nullptr},
            {"interval", nullptr},
            {"decision", "undecided"},
            {"variant", ""},
            {"incumbent", m_incumbent},
            {"problems", Json::array()},
            {"stop_reason", "budget: dry run"}};
  }
  const std::int64_t number = ++m_iteration;
  const double speedup = std::uniform_real_distribution<double>(0.8, 1.6)(m_random);
  const std::string label =
      fmt::format("{}@{:08x}", args.value("variant", args.value("name", "derived")), number);
  const bool win = speedup > 1.05;
  const double predicted = args["predicted_speedup"].get<double>();
  if (win) m_incumbent = label;
  return {{"iteration", number},
          {"outcome", win ? "win" : "no_gain"},
          {"invalidity", nullptr},
          {"message", "dry run: nothing was measured"},
          {"speedup", speedup},
          {"interval", interval_around(speedup)},
          {"decision", win && speedup * 1.02 >= predicted ? "supported" : "refuted"},
          {"variant", label},
          {"incumbent", m_incumbent},
          {"problems", Json::array()},
          {"stop_reason", m_iteration >= m_evaluations ? Json("budget: dry run") : Json(nullptr)}};
}

Result<Json> FakeEngine::answer(const std::string& name, const Json& args) {
  const VerbSpec* verb = find_verb(name);
  if (verb == nullptr || !verb->in_playbook) {
    return Error{ErrorCode::usage, "call the verb", name, "playbooks do not have it", ""};
  }
  WB_TRY_ASSIGN(const Json checked, check_arguments(*verb, args));
  m_calls.push_back({{"verb", name}, {"args", checked}});
  if (verb->session == SessionNeed::none) return m_engine.call(name, checked);
  if (name == "iterate") return iterate(checked);
  if (name == "note") return Json{{"event", m_calls.size()}};
  if (name == "check") {
    return Json{{"pass", true}, {"variant", checked["variant"]}, {"problems", Json::array()}};
  }
  if (name == "measure") {
    return Json{{"variant", checked["variant"]}, {"problems", Json::array()}};
  }
  if (name == "compare") {
    const double speedup = std::uniform_real_distribution<double>(0.8, 1.6)(m_random);
    return Json{{"outcome", speedup > 1.05 ? "faster" : "slower"},
                {"speedup", speedup},
                {"interval", interval_around(speedup)},
                {"problems", Json::array()}};
  }
  if (name == "status") {
    return Json{{"status", "open"},         {"iterations", m_iteration + 1},
                {"incumbent", m_incumbent}, {"best_speedup", nullptr},
                {"cost", Json::object()},   {"stop_reason", nullptr},
                {"text", "dry run"}};
  }
  if (name == "close") return Json{{"session", "dry-run"}, {"report", ""}, {"commit", ""}};
  return Json{{"text", "dry run"}};
}

}  // namespace wb
