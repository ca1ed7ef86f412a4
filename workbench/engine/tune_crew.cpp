// SPDX-License-Identifier: MIT
#include "engine/tune_crew.hpp"

#include <algorithm>

#include "core/hash.hpp"

namespace wb {
namespace {

constexpr std::int64_t k_in_flight_max = 1'024;
constexpr std::size_t k_fault_max = 2'000;

}  // namespace

Result<std::int64_t> crew_size(const AskProgram& ask) {
  if (!ask) return std::int64_t{0};
  WB_TRY_ASSIGN(const Json answer, ask({{"ask", "crew_size"}}));
  ObjectReader reader(answer, "the program's answer");
  const std::int64_t in_flight = reader.integer("in_flight", 0, k_in_flight_max);
  WB_TRY(reader.finish(true));
  return in_flight;
}

bool Crew::has_reply(const Ask& ask) const {
  const auto found = m_numbers.find(key(ask));
  return found != m_numbers.end() && m_sent.at(found->second).is_back;
}

std::size_t Crew::away() const {
  return static_cast<std::size_t>(std::count_if(
      m_sent.begin(), m_sent.end(), [](const auto& sent) { return !sent.second.is_back; }));
}

Result<void> Crew::send(EvaluationRequest request) {
  const std::int64_t number = m_next++;
  // Nobody else has this one: it says what is asked, and the how-manieth time.
  request.id = sha256_hex(Json{{"number", number}, {"request", to_json(request)}}.dump());
  WB_TRY(m_ask({{"ask", "evaluate"}, {"number", number}, {"request", to_json(request)}}));
  m_numbers[key(request.ask)] = number;
  m_sent[number].request = std::move(request);
  return {};
}

Result<void> Crew::collect(std::chrono::milliseconds patience) {
  const double patience_s = std::chrono::duration<double>(patience).count();
  WB_TRY_ASSIGN(const Json answer, m_ask({{"ask", "replies"}, {"patience_s", patience_s}}));
  for (const Json& item : answer.value("replies", Json::array())) {
    ObjectReader reader(item, "a reply of the program");
    const std::int64_t number = reader.integer("number", 0, m_next);
    const Json* reply = reader.member("reply");
    const std::string fault = reader.string_or("fault", "");
    WB_TRY(reader.finish(true));
    const auto sent = m_sent.find(number);
    if (sent == m_sent.end()) continue;
    sent->second.is_back = true;
    sent->second.fault = printable(fault, k_fault_max);
    if (reply != nullptr) sent->second.reply = *reply;
  }
  return {};
}

Crew::Sent Crew::take(const Ask& ask) {
  const auto number = m_numbers.find(key(ask));
  Sent sent = std::move(m_sent.at(number->second));
  m_sent.erase(number->second);
  m_numbers.erase(number);
  return sent;
}

Result<void> Crew::forget() {
  m_sent.clear();
  m_numbers.clear();
  WB_TRY(m_ask({{"ask", "forget"}}));
  return {};
}

}  // namespace wb
