// SPDX-License-Identifier: MIT
#include "worker/subject_loop.hpp"

#include <fmt/format.h>

#include <chrono>
#include <csignal>
#include <exception>
#include <limits>
#include <memory>
#include <new>
#include <tuple>
#include <utility>

#include "core/json.hpp"
#include "worker/roles.hpp"

namespace wb::worker {

using problem::Problem;

namespace {

std::uint32_t read_seed(ObjectReader& reader) {
  return static_cast<std::uint32_t>(
      reader.integer("seed", 0, std::numeric_limits<std::uint32_t>::max()));
}

Result<Problem> read_problem(ObjectReader& reader) {
  const Json* json = reader.member("problem");
  return problem::problem_from_json(json != nullptr ? *json : Json(), "the problem");
}

Result<ChainOrder> read_chain(const Json& json) {
  ObjectReader reader(json, "a chain");
  ChainOrder chain;
  const Json* seeds = reader.member("seeds");
  if (seeds == nullptr || !seeds->is_array() || seeds->empty()) reader.fail("seeds", "are missing");
  for (const Json& seed : seeds != nullptr ? *seeds : Json::array()) {
    if (!seed.is_number_unsigned())
      reader.fail("seeds", "must be numbers");
    else
      chain.seeds.push_back(seed.get<std::uint32_t>());
  }
  chain.poison.seed = static_cast<std::uint64_t>(reader.integer("poison", 0, k_max_number));
  chain.with_calls = reader.boolean_or("with_calls", true);
  WB_TRY(reader.finish());
  return chain;
}

/// The memory that the message names as "lent", with its descriptors; empty without it.
Outcome<LentMemory> read_lent(Message& message) {
  LentMemory lent;
  const auto found = message.body.find("lent");
  if (found == message.body.end()) return lent;
  const auto malformed = [] { return runtime_failure("a message's lent memory is malformed"); };
  if (!found->is_object()) return malformed();
  lent.number = found->value("number", std::int64_t{0});
  std::size_t used = 0;
  for (const auto& [name, to] :
       {std::pair{"out", &lent.out}, std::pair{"lse", &lent.lse}, std::pair{"snap", &lent.snap}}) {
    const auto part = found->find(name);
    if (part == found->end()) continue;
    if (!part->is_object() || used == message.fds.size()) return malformed();
    to->bytes = part->value("bytes", std::size_t{0});
    to->fd = std::move(message.fds[used++]);
  }
  if (!lent.is_there() || used != message.fds.size()) return malformed();
  message.fds.clear();
  return lent;
}

class SubjectLoop {
 public:
  SubjectLoop(const Channel& channel, SubjectBody& body) : m_channel(channel), m_body(body) {}
  int serve();

 private:
  Outcome<Json> handle(Message& message, const std::string& op);
  Outcome<Json> load(const Json& body);
  Outcome<Json> run(Message& message);
  Outcome<Json> turn(Message& message);
  static Result<void> map_outputs(ObjectReader& reader, std::vector<UniqueFd> fds,
                                  TurnOrder& order);
  Outcome<Json> prime(const Json& body);
  Outcome<Json> go(const Json& body);
  Outcome<Json> show();
  Outcome<Json> copy();
  void reply(const Json& request, const Outcome<Json>& outcome) const;

  const Channel& m_channel;
  SubjectBody& m_body;
  bool m_has_stage = false;
  /// The present message.
  std::shared_ptr<std::int64_t> m_number = std::make_shared<std::int64_t>(0);
  bool m_shows = true;  // after a block, without a request
};

Outcome<Json> SubjectLoop::load(const Json& body) {
  ObjectReader reader(body, "load");
  LoadOrder order;
  order.path = reader.string_or("path", "");
  order.builtin = reader.string_or("builtin", "");
  order.build_id = reader.string_or("build_id", "");
  order.threads = static_cast<int>(reader.integer("threads", 1, 4'096));
  // By value: a plan may be destroyed after this loop.
  order.leaving = [channel = &m_channel, number = m_number](bool leaves) {
    [[maybe_unused]] const auto sent =
        channel->send(Json{{"n", *number}, {"ok", true}, {k_leaving, leaves}});
  };
  WB_TRY(m_body.load(order));
  return Json{{"versions", {{"build_id", order.build_id}}}};
}

Outcome<Json> SubjectLoop::run(Message& message) {
  ObjectReader reader(message.body, "run");
  const Result<Problem> problem = read_problem(reader);
  const auto draw = problem::parse_draw(reader.string_or("draw", "normal"));
  RunOrder order;
  order.seed = read_seed(reader);
  const Json* form_json = reader.member("form");
  const auto form =
      problem::call_form_from_json(form_json != nullptr ? *form_json : Json::object());
  const bool want_lse = message.fds.size() == 2;
  order.want_lse = want_lse;
  if (!form.ok() || !problem.ok() || !draw || message.fds.empty()) {
    return runtime_failure("a run message is malformed");
  }
  order.problem = *problem;
  order.draw = *draw;
  order.form = *form;
  WB_TRY_ASSIGN(auto lent, read_lent(message));
  if (lent.is_there()) {
    order.lent = std::move(lent);
    WB_TRY_ASSIGN(const auto call_us, m_body.run(order));
    return Json{{"call_us", call_us}, {"lse", want_lse}};
  }
  Result<Mapping> out = Mapping::of(message.fds[0].get(), problem::out_bytes(*problem), true);
  Result<Mapping> lse =
      want_lse ? Mapping::of(message.fds[1].get(), problem::lse_bytes(*problem), true) : Mapping();
  if (!out.ok() || !lse.ok()) return runtime_failure("an output file cannot be mapped");
  order.out = *std::move(out);
  if (want_lse) order.lse = *std::move(lse);
  WB_TRY_ASSIGN(const auto call_us, m_body.run(order));
  return Json{{"call_us", call_us}, {"lse", want_lse}};
}

/// The outputs named in the message, each by its offset in the next memory file.
Result<void> SubjectLoop::map_outputs(ObjectReader& reader, std::vector<UniqueFd> fds,
                                      TurnOrder& order) {
  order.want_lse = reader.boolean_or("want_lse", false);
  std::size_t used = 0;
  for (const auto& [key, memory, size_bytes] :
       {std::tuple{"out_offset", &order.out, problem::out_bytes(order.problem)},
        std::tuple{"lse_offset", &order.lse, problem::lse_bytes(order.problem)}}) {
    if (reader.member(key) == nullptr) continue;
    const std::int64_t offset = reader.integer(key, 0, k_max_number);
    if (used == fds.size()) {
      return Error{ErrorCode::invalid, "map", "an output", "its memory file is missing", ""};
    }
    WB_TRY_ASSIGN(*memory, GuardedMemory::of_file(fds[used++].get(),
                                                  static_cast<std::size_t>(offset), size_bytes));
  }
  if (used == 0 && !fds.empty()) {  // on a GPU
    WB_TRY_ASSIGN(order.shown,
                  Mapping::of(fds[used++].get(), problem::out_bytes(order.problem), true));
  }
  if (used != fds.size()) {
    return Error{ErrorCode::invalid, "map", "an output", "a memory file has no offset", ""};
  }
  return {};  // the descriptors are closed before the variant runs
}

Outcome<Json> SubjectLoop::turn(Message& message) {
  ObjectReader reader(message.body, "turn");
  const Result<Problem> problem = read_problem(reader);
  const auto kind = measure::parse_plan_kind(reader.string_or("kind", ""));
  const auto draw = problem::parse_draw(reader.string_or("draw", "normal"));
  const auto placing = parse_placing(reader.string_or("placing", "scattered"));
  TurnOrder order;
  order.placement = reader.integer("placement", 0, k_max_number);
  order.seed = read_seed(reader);
  order.settle_us = reader.real("settle_us");
  if (!problem.ok() || !kind || !draw || !placing) {
    return runtime_failure("a turn message is malformed");
  }
  order.problem = *problem;
  order.kind = *kind;
  order.draw = *draw;
  order.placing = *placing;
  WB_TRY_ASSIGN(auto lent, read_lent(message));
  order.lent = std::move(lent);
  m_shows = !order.lent.is_there();
  if (order.lent.is_there()) {
    order.want_lse = order.lent.lse.bytes > 0;
  } else if (const auto mapped = map_outputs(reader, std::move(message.fds), order); !mapped.ok()) {
    return runtime_failure("an output file cannot be mapped: " + mapped.error().message());
  }
  WB_TRY_ASSIGN(const auto answer, m_body.turn(std::move(order)));
  m_has_stage = true;
  Json told{{"call_us", answer.call_us},
            {"settled", answer.settled},
            {"refill_us", answer.refill_us},
            {"flushes", answer.flushes}};
  if (!answer.launches.empty()) told["launches"] = to_json(answer.launches);
  return told;
}

Outcome<Json> SubjectLoop::prime(const Json& body) {
  ObjectReader reader(body, "prime");
  if (!m_has_stage) return runtime_failure("prime without a turn");
  PrimeOrder order;
  order.calls = reader.integer("calls", 1, k_max_number);
  if (reader.member("seed") != nullptr) order.seed = read_seed(reader);
  const auto draw = problem::parse_draw(reader.string_or("draw", "normal"));
  if (!draw) return runtime_failure("a prime message is malformed");
  order.draw = *draw;
  order.warm = reader.boolean_or("warm", false);
  order.flush = reader.boolean_or("flush", false);
  order.poison =
      problem::Poison{static_cast<std::uint64_t>(reader.integer("poison", 0, k_max_number))};
  order.lse_poison = problem::Poison{
      static_cast<std::uint64_t>(reader.integer_or("lse_poison", 0, 0, k_max_number))};
  WB_TRY(m_body.prime(order));
  return Json::object();
}

Outcome<Json> SubjectLoop::go(const Json& body) {
  ObjectReader reader(body, "go");
  GoOrder order;
  order.samples = reader.integer("samples", 1, 4'000);
  order.calls = reader.integer("calls", 1, 100'000'000);
  if (const Json* chain = reader.member("chain")) {
    auto read = read_chain(*chain);
    if (!read.ok()) return runtime_failure("a chain of calls is malformed");
    order.chain = *std::move(read);
  }
  if (!m_has_stage) return runtime_failure("go without a turn");
  const auto block_ns = m_body.go(order, [&] { reply(body, Json{{"started", true}}); });
  if (!block_ns.ok()) return block_ns.error();
  // Short, so that its transfer is negligible beside the block; the samples follow later.
  return Json{{"block_ns", *block_ns}};
}

Outcome<Json> SubjectLoop::show() {
  WB_TRY_ASSIGN(const auto sample_ns, m_body.show());
  return Json{{"sample_ns", sample_ns}};
}

Outcome<Json> SubjectLoop::copy() {
  if (!m_has_stage) return runtime_failure("a copy without a turn");
  WB_TRY(m_body.copy_out());
  return Json::object();
}

Outcome<Json> SubjectLoop::handle(Message& message, const std::string& op) {
  try {
    if (op == "ping") return Json::object();
    if (op == "load") return load(message.body);
    if (op == "run") return run(message);
    if (op == "turn") return turn(message);
    if (op == "prime") return prime(message.body);
    if (op == "go") return go(message.body);
    if (op == "show") return show();
    if (op == "copy") return copy();
    return runtime_failure("unknown message");
  } catch (const std::bad_alloc&) {
    return runtime_failure(fmt::format("ran out of memory (std::bad_alloc) during {}", op));
  } catch (const std::exception& fault) {
    return runtime_failure(fmt::format("threw an exception across the C interface during {}: {}",
                                       op, printable(fault.what(), 400)));
  } catch (...) {
    return runtime_failure(fmt::format("threw an exception across the C interface during {}", op));
  }
}

void SubjectLoop::reply(const Json& request, const Outcome<Json>& outcome) const {
  Json body = outcome.ok() ? *outcome
                           : Json{{"invalidity", to_string(outcome.error().invalidity)},
                                  {"message", outcome.error().message}};
  body["ok"] = outcome.ok();
  body["n"] = request.value("n", std::int64_t{0});
  [[maybe_unused]] const auto sent = m_channel.send(body);
}

int SubjectLoop::serve() {
  while (true) {
    auto message = m_channel.receive(Deadline::max());
    if (!message.ok()) return message.error() == ChannelFault::closed ? 0 : 1;
    const auto found = message->body.find("op");
    const std::string op = found != message->body.end() && found->is_string()
                               ? found->get<std::string>()
                               : std::string();
    if (op == "bye") return 0;
    *m_number = message->body.value("n", std::int64_t{0});
    const Outcome<Json> outcome = handle(*message, op);
    reply(message->body, outcome);
    // The supervisor's clock runs until this process is stopped, so no work can be postponed.
    if (message->body.value("stop", false)) ::raise(SIGSTOP);
    // A judge that copies by itself does so first and then asks for the samples.
    if (op == "go" && outcome.ok() && m_shows) reply(message->body, handle(*message, "show"));
  }
}

}  // namespace

bool make_earlier_calls(const problem::CallForm& form, const std::function<bool()>& call) {
  const auto end =
      std::chrono::steady_clock::now() + std::chrono::milliseconds(problem::k_earlier_calls_ms);
  for (std::int64_t n = 1; n < form.call && std::chrono::steady_clock::now() < end; ++n) {
    if (!call()) return false;
  }
  return true;
}

Failure wrote_outside(const char* tensor) {
  return runtime_failure(fmt::format("wrote outside its tensors, beside {}", tensor));
}

int serve_subject(const Channel& channel, SubjectBody& body) {
  return SubjectLoop(channel, body).serve();
}

}  // namespace wb::worker
