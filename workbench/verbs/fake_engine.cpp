// SPDX-License-Identifier: MIT
#include "verbs/fake_engine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/json.hpp"
#include "engine/engine.hpp"
#include "verbs/table.hpp"
#include "verbs/verb.hpp"

namespace wb::verbs {

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

Json interval_around(double figure) {
  return {{"low", figure * 0.98}, {"high", figure * 1.02}, {"confidence", 0.99}};
}

FakeEngine::FakeEngine(engine::Engine& engine, Options options, Table table)
    : incumbent(options.start + "@00000000"),
      m_engine(engine),
      m_options(std::move(options)),
      m_table(table),
      m_random(m_options.seed) {
  if (m_options.course == Course::stopped) m_options.evaluations = 0;
  labels.insert(incumbent);
}

Json FakeEngine::stop_reason() const {
  return is_stopped() ? Json("budget: dry run") : Json(nullptr);
}

double FakeEngine::draw_speedup() {
  if (m_options.course == Course::winning) {
    return 1.1 + 0.5 * static_cast<double>(m_random() >> 11) * 0x1p-53;
  }
  return 0.8 + 0.8 * static_cast<double>(m_random() >> 11) * 0x1p-53;
}

Result<std::string> FakeEngine::misfit(const std::string& variant, const Json& configuration) {
  const std::string name = variant.substr(0, variant.find('@'));
  const bool is_label = name.size() != variant.size();
  if (is_label && !labels.contains(variant)) {
    return Error{ErrorCode::not_found, "find the variant", variant,
                 "no iteration of this session built it", "name a kernel, or a label of an answer"};
  }
  auto row = m_engine.call("kernels", {{"name", name}});
  if (!row && is_label) return std::string();  // a derived variant exists only in the session
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

Result<Json> FakeEngine::answer(const std::string& name, const Json& args) {
  const Verb* verb = find_verb(name, m_table);
  if (verb == nullptr || !verb->spec.in_playbook) {
    return Error{ErrorCode::usage, "call the verb", name, "playbooks do not have it", ""};
  }
  WB_TRY_ASSIGN(const Json checked, check_arguments(verb->spec, args));
  m_calls.push_back({{"verb", name}, {"args", checked}});
  const bool is_external = verb->spec.session == SessionNeed::none;
  if (is_external && verb->sample == nullptr) return m_engine.call(name, checked);
  if (is_closed && !is_external && !verb->spec.reads_only) {
    return Error{ErrorCode::invalid, "call", name, "the session is closed", "call close last"};
  }
  if (verb->sample != nullptr) return verb->sample(*this, checked);
  return Json{{"text", "dry run"}, {"kind", "event"}, {"value", Json::object()}};
}

}  // namespace wb::verbs
