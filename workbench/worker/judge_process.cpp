// SPDX-License-Identifier: MIT
#include "worker/judge_process.hpp"

#include <fmt/format.h>

#include <array>
#include <limits>
#include <tuple>
#include <utility>

#include "core/json.hpp"
#include "worker/failure.hpp"
#include "worker/roles.hpp"

namespace wb::worker {

using problem::OutputVerdict;
using problem::Poison;

Json to_json(const JudgeTask& task) {
  Json json = {{"problem", to_json(task.problem)},
               {"draw", to_string(task.draw)},
               {"seed", task.seed},
               {"out_poison", task.out_poison.seed},
               {"lse_poison", task.lse_poison.seed},
               {"threads", task.threads}};
  if (task.max_blocks) json["max_blocks"] = *task.max_blocks;
  if (task.taken != 0) {
    json["taken"] = task.taken;
    json["taken_lse"] = task.taken_lse;
  }
  return json;
}

Result<JudgeTask> judge_task_from_json(const Json& json) {
  ObjectReader reader(json, "a judge's task");
  JudgeTask task;
  const Json* problem_json = reader.member("problem");
  if (problem_json == nullptr) {
    reader.fail("problem", "is missing");
  } else {
    WB_TRY_ASSIGN(task.problem, problem::problem_from_json(*problem_json, "the problem"));
  }
  const auto draw = problem::parse_draw(reader.string("draw"));
  if (!draw) reader.fail("draw", "is not a known word");
  task.seed = static_cast<std::uint32_t>(
      reader.integer("seed", 0, std::numeric_limits<std::uint32_t>::max()));
  task.out_poison.seed = static_cast<std::uint64_t>(reader.integer("out_poison", 0, k_max_number));
  task.lse_poison.seed = static_cast<std::uint64_t>(reader.integer("lse_poison", 0, k_max_number));
  task.threads = static_cast<int>(reader.integer("threads", 1, 4'096));
  if (reader.member("taken") != nullptr) {
    task.taken = reader.integer("taken", 1, k_max_number);
    task.taken_lse = reader.boolean_or("taken_lse", false);
  }
  if (reader.member("max_blocks") != nullptr) {
    task.max_blocks = reader.integer("max_blocks", 1, k_max_number);
  }
  WB_TRY(reader.finish());
  task.draw = *draw;
  return task;
}

Json to_json(const GpuFacts& facts) {
  return {{"device", to_json(facts.device)},
          {"empty_pair_us", facts.empty_pair_us},
          {"empty_call_us", facts.empty_call_us},
          {"why_not_lent", facts.why_not_lent}};
}

JudgeProcess::JudgeProcess(ChildRegistry& registry, std::string own_program,
                           Confinement confinement, std::optional<int> gpu)
    : m_registry(registry),
      m_own_program(std::move(own_program)),
      m_confinement(std::move(confinement)),
      m_gpu(gpu) {
  m_confinement.untrusted = false;
  m_confinement.address_space_bytes = 0;
}

Result<void> JudgeProcess::start() {
  if (m_child) return {};
  ChildSpec spec;
  spec.argv = {m_own_program, k_judge_role};
  if (m_gpu) {
    spec.argv.push_back(gpu_argument(*m_gpu));
    spec.env = gpu_environment();
  }
  spec.confinement = m_confinement;
  WB_TRY_ASSIGN(Child child, Child::spawn(m_registry, spec));
  m_child = std::move(child);
  return {};
}

Failure JudgeProcess::fail(const std::string& what) {
  const std::string output = m_child->captured();
  const ChildEnd end = m_child->kill();
  m_child.reset();
  return environment(fmt::format("the judge {} ({})", what, describe(end)), output);
}

Outcome<Json> JudgeProcess::ask(const Json& message, std::span<const int> fds, Deadline deadline,
                                CancelSource cancel) {
  WB_TRY_ASSIGN(auto answer, ask_for_more(message, fds, deadline, cancel));
  return std::move(answer.body);
}

Outcome<Message> JudgeProcess::ask_for_more(const Json& message, std::span<const int> fds,
                                            Deadline deadline, CancelSource cancel) {
  if (const auto started = start(); !started.ok()) return environment(started.error().message());
  if (!m_child->channel().send(message, fds).ok()) return fail("could not be asked");
  auto answer = m_child->channel().receive(deadline, cancel);
  if (!answer.ok()) {
    switch (answer.error()) {
      case ChannelFault::timeout:
        return fail("did not finish before the deadline");
      case ChannelFault::canceled:
        return fail("was canceled");
      case ChannelFault::closed:
        return fail("ended before its answer");
      case ChannelFault::garbage:
        return fail("sent no valid answer");
    }
  }
  if (const auto fault = answer->body.find("fault"); fault != answer->body.end()) {
    // The answer names the cause; its process is killed afterwards.
    const std::string words = fault->is_string() ? fault->get<std::string>() : fault->dump();
    m_child->kill();
    m_child.reset();
    return environment("the judge could not go on: " + words);
  }
  return *std::move(answer);
}

Json JudgeProcess::ended_loans() {
  Json ended = Json::array();
  std::erase_if(m_lent, [&ended](const auto& entry) {
    if (!entry.second.expired()) return false;
    ended.push_back(entry.first);
    return true;
  });
  return ended;
}

Outcome<std::shared_ptr<const LentOutput>> JudgeProcess::lend(
    const cuda::OutputPlaces& places, const std::optional<Poison>& out_poison,
    const std::optional<Poison>& lse_poison, Deadline deadline, CancelSource cancel) {
  auto lent = std::make_shared<LentOutput>();
  lent->number = m_next_loan++;
  lent->places = places;
  Json message = {{"ask", k_ask_lend}, {"number", lent->number}, {"ended", ended_loans()}};
  const std::optional<Poison> no_poison;
  std::size_t wanted = 0;
  for (const auto& [key, place, poison] :
       {std::tuple{"out", &places.out, &out_poison}, std::tuple{"lse", &places.lse, &lse_poison},
        std::tuple{"snap", &places.snap, &no_poison}}) {
    if (place->size_bytes > 0) ++wanted;
    message[key] = {{"reserved_bytes", place->reserved_bytes},
                    {"offset", place->offset},
                    {"size_bytes", place->size_bytes}};
    if (*poison) message[key]["poison"] = (*poison)->seed;
  }
  WB_TRY_ASSIGN(auto answer, ask_for_more(message, {}, deadline, cancel));
  const auto bytes = answer.body.find("bytes");
  if (bytes == answer.body.end() || !bytes->is_array() || bytes->size() != wanted ||
      answer.fds.size() != wanted) {
    return fail("lent no valid memory");
  }
  for (const Json& item : *bytes) {
    if (!item.is_number_integer()) return fail("lent no valid memory");
    lent->map_bytes.push_back(item.get<std::int64_t>());
  }
  lent->fds = std::move(answer.fds);
  lent->judge = pid();
  m_lent[lent->number] = lent;
  return std::shared_ptr<const LentOutput>(std::move(lent));
}

Outcome<double> JudgeProcess::take(const LentOutput& lent, Deadline deadline, CancelSource cancel) {
  WB_TRY_ASSIGN(const auto answer,
                ask({{"ask", k_ask_take}, {"number", lent.number}}, {}, deadline, cancel));
  ObjectReader reader(answer, "a copy's time");
  const double device_us = reader.real("device_us");
  if (!reader.finish().ok()) return fail("took no valid copy");
  return device_us;
}

Outcome<OutputVerdict> JudgeProcess::judge_taken(JudgeTask task, const LentOutput& lent,
                                                 bool with_lse, Deadline deadline,
                                                 CancelSource cancel) {
  task.taken = lent.number;
  task.taken_lse = with_lse;
  WB_TRY_ASSIGN(const auto answer, ask(to_json(task), {}, deadline, cancel));
  Result<OutputVerdict> verdict = problem::output_verdict_from_json(answer);
  if (!verdict.ok()) return fail("sent no valid verdict");
  return *std::move(verdict);
}

Outcome<OutputVerdict> JudgeProcess::judge(const JudgeTask& task, const SharedMemory& out,
                                           const SharedMemory* lse, Deadline deadline,
                                           CancelSource cancel) {
  const std::array<int, 2> fds{out.fd(), lse != nullptr ? lse->fd() : -1};
  const std::size_t fd_count = lse != nullptr ? 2 : 1;
  WB_TRY_ASSIGN(const auto answer,
                ask(to_json(task), std::span(fds).first(fd_count), deadline, cancel));
  Result<OutputVerdict> verdict = problem::output_verdict_from_json(answer);
  if (!verdict.ok()) return fail("sent no valid verdict");
  return *std::move(verdict);
}

Outcome<GpuFacts> JudgeProcess::gpu_facts(Deadline deadline, CancelSource cancel) {
  WB_TRY_ASSIGN(const auto answer, ask({{"ask", k_ask_gpu}}, {}, deadline, cancel));
  ObjectReader reader(answer, "facts of a GPU");
  const Json* device_json = reader.member("device");
  GpuFacts facts;
  facts.empty_pair_us = reader.real("empty_pair_us");
  facts.empty_call_us = reader.real("empty_call_us");
  facts.why_not_lent = reader.string("why_not_lent");
  Result<device::Device> device =
      device::device_from_json(device_json != nullptr ? *device_json : Json());
  if (!reader.finish().ok() || !device.ok()) return fail("sent no valid facts of its GPU");
  facts.device = *std::move(device);
  m_lends = facts.why_not_lent.empty();
  return facts;
}

Outcome<std::uint64_t> JudgeProcess::free_gpu_bytes(Deadline deadline, CancelSource cancel) {
  WB_TRY_ASSIGN(const auto answer,
                ask({{"ask", k_ask_memory}, {"ended", ended_loans()}}, {}, deadline, cancel));
  ObjectReader reader(answer, "the free memory of a GPU");
  const std::int64_t bytes = reader.integer("free_bytes", 0, k_max_number);
  if (!reader.finish().ok()) return fail("sent no valid figure for its GPU's memory");
  return static_cast<std::uint64_t>(bytes);
}

}  // namespace wb::worker
