// SPDX-License-Identifier: MIT
#include "worker/judge_process.hpp"

#include <fmt/format.h>

#include <array>
#include <limits>
#include <utility>

#include "worker/failure.hpp"
#include "worker/roles.hpp"

namespace wb::worker {

Json to_json(const JudgeTask& task) {
  Json json = {{"problem", wb::to_json(task.problem)},
               {"draw", to_string(task.draw)},
               {"seed", task.seed},
               {"out_poison", task.out_poison.seed},
               {"lse_poison", task.lse_poison.seed},
               {"threads", task.threads}};
  if (task.max_blocks) json["max_blocks"] = *task.max_blocks;
  return json;
}

Result<JudgeTask> judge_task_from_json(const Json& json) {
  ObjectReader reader(json, "a judge's task");
  JudgeTask task;
  const Json* problem_json = reader.member("problem");
  if (problem_json == nullptr) {
    reader.fail("problem", "is missing");
  } else {
    WB_TRY_ASSIGN(task.problem, problem_from_json(*problem_json, "the problem"));
  }
  const auto draw = parse_draw(reader.string("draw"));
  if (!draw) reader.fail("draw", "is not a known word");
  task.seed = static_cast<std::uint32_t>(
      reader.integer("seed", 0, std::numeric_limits<std::uint32_t>::max()));
  task.out_poison.seed = static_cast<std::uint64_t>(reader.integer("out_poison", 0, k_max_number));
  task.lse_poison.seed = static_cast<std::uint64_t>(reader.integer("lse_poison", 0, k_max_number));
  task.threads = static_cast<int>(reader.integer("threads", 1, 4'096));
  if (reader.member("max_blocks") != nullptr) {
    task.max_blocks = reader.integer("max_blocks", 1, k_max_number);
  }
  WB_TRY(reader.finish());
  task.draw = *draw;
  return task;
}

Json to_json(const GpuFacts& facts) {
  return {{"device", wb::to_json(facts.device)},
          {"empty_pair_us", facts.empty_pair_us},
          {"empty_call_us", facts.empty_call_us}};
}

JudgeProcess::JudgeProcess(Family& family, std::string own_program, Confinement confinement,
                           std::optional<int> gpu)
    : m_family(family),
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
  WB_TRY_ASSIGN(Child child, Child::spawn(m_family, spec));
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
    // It says itself why; that it is killed now is no news.
    const std::string words = fault->is_string() ? fault->get<std::string>() : fault->dump();
    m_child->kill();
    m_child.reset();
    return environment("the judge could not go on: " + words);
  }
  return std::move(answer->body);
}

Outcome<OutputVerdict> JudgeProcess::judge(const JudgeTask& task, const SharedMemory& out,
                                           const SharedMemory* lse, Deadline deadline,
                                           CancelSource cancel) {
  const std::array<int, 2> fds{out.fd(), lse != nullptr ? lse->fd() : -1};
  const std::size_t fd_count = lse != nullptr ? 2 : 1;
  const auto answer = ask(to_json(task), std::span(fds).first(fd_count), deadline, cancel);
  if (!answer.ok()) return answer.error();
  Result<OutputVerdict> verdict = output_verdict_from_json(*answer);
  if (!verdict.ok()) return fail("sent no valid verdict");
  return *std::move(verdict);
}

Outcome<GpuFacts> JudgeProcess::gpu_facts(Deadline deadline, CancelSource cancel) {
  const auto answer = ask({{"ask", k_ask_gpu}}, {}, deadline, cancel);
  if (!answer.ok()) return answer.error();
  ObjectReader reader(*answer, "facts of a GPU");
  const Json* device_json = reader.member("device");
  GpuFacts facts;
  facts.empty_pair_us = reader.real("empty_pair_us");
  facts.empty_call_us = reader.real("empty_call_us");
  Result<Device> device = device_from_json(device_json != nullptr ? *device_json : Json());
  if (!reader.finish().ok() || !device.ok()) return fail("sent no valid facts of its GPU");
  facts.device = *std::move(device);
  return facts;
}

Outcome<std::uint64_t> JudgeProcess::free_gpu_bytes(Deadline deadline, CancelSource cancel) {
  const auto answer = ask({{"ask", k_ask_memory}}, {}, deadline, cancel);
  if (!answer.ok()) return answer.error();
  ObjectReader reader(*answer, "the free memory of a GPU");
  const std::int64_t bytes = reader.integer("free_bytes", 0, k_max_number);
  if (!reader.finish().ok()) return fail("sent no valid figure for its GPU's memory");
  return static_cast<std::uint64_t>(bytes);
}

}  // namespace wb::worker
