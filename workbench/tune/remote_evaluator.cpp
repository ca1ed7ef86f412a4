// SPDX-License-Identifier: MIT
#include "tune/remote_evaluator.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/hash.hpp"
#include "core/json.hpp"
#include "tune/evaluation_exchange.hpp"

namespace wb::tune {
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
