// SPDX-License-Identifier: MIT
#include "search/program.hpp"
#include "core/json.hpp"

#include <cmath>

namespace wb::search {

using variant::Configuration;

namespace {

Json told_json(const Told& told) {
  return {{"configuration", variant::to_json(told.configuration)},
          {"log_time", std::isfinite(told.log_time) ? Json(told.log_time) : Json(nullptr)},
          {"invalidity", told.invalidity ? Json(to_string(*told.invalidity)) : Json(nullptr)}};
}

Error misunderstood(std::string cause) {
  return Error{ErrorCode::internal, "hear", "the program's answer", std::move(cause),
               "this is a fault of the workbench: please report it"};
}

Result<std::vector<Configuration>> configurations_of(const Json& answer) {
  const Json list = answer.value("configurations", Json());
  if (!list.is_array()) return misunderstood("it has no list of configurations");
  std::vector<Configuration> configurations;
  for (const Json& item : list) {
    Configuration& configuration = configurations.emplace_back();
    if (!item.is_object()) return misunderstood("a configuration is no map");
    for (const auto& [name, value] : item.items()) {
      const auto whole = whole_number(value);
      if (!whole) return misunderstood("a parameter's value is no integer");
      configuration[name] = *whole;
    }
  }
  return configurations;
}

}  // namespace

MakeProposer proposers_of(AskProgram ask, std::int64_t in_flight) {
  if (!ask) return {};
  return [ask = std::move(ask), in_flight](StrategyKind kind, const SearchSpace& space,
                                           std::uint64_t seed) -> Result<Proposer> {
    WB_TRY_ASSIGN(const Json begun, ask({{"ask", "search"},
                                         {"strategy", to_string(kind)},
                                         {"seed", seed},
                                         {"parameters", space.parameters()},
                                         {"in_flight", in_flight}}));
    const Json search = begun.value("search", Json());
    if (!search.is_number_integer()) return misunderstood("it names no search");
    const auto propose = [ask, search](std::span<const Told> news,
                                       std::size_t want) -> Result<std::vector<Configuration>> {
      Json told = Json::array();
      for (const Told& item : news) told.push_back(told_json(item));
      WB_TRY_ASSIGN(
          const Json answer,
          ask({{"ask", "propose"}, {"search", search}, {"told", std::move(told)}, {"want", want}}));
      return configurations_of(answer);
    };
    return Proposer{begun.value("about", ""), propose};
  };
}

}  // namespace wb::search
