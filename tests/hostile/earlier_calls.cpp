// SPDX-License-Identifier: MIT
// Candidates that live on earlier calls: late, stale and remembered results, guesses, and another
// behavior while they are watched.
// Each part behind a mark is a source of its own, which gauntlet.py cuts out; nothing compiles this
// file as a whole.

// ==== late_output
// Returns at once and does the work later, on a thread of its own.
#include <chrono>
#include <thread>

#include "hostile.hpp"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  std::thread([own_plan = plan, args]() mutable {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    hostile::honest(own_plan, args);
  }).detach();
  return WB_OK;
}

// ==== stale_output
// Works in the first calls of a plan only: later calls leave what those wrote.
#include "hostile.hpp"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  return plan.calls <= 2 ? hostile::honest(plan, args) : WB_OK;
}

// ==== works_on_new_inputs
// Works only when the inputs changed since the last call.
#include "hostile.hpp"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  static float seen = NAN;
  const float first = static_cast<const float*>(args.q)[0];
  if (first == seen) return WB_OK;
  seen = first;
  return hostile::honest(plan, args);
}

// ==== caches_by_pointer
// Works once for each address of Q and gives the old result afterwards.
#include <map>

#include "hostile.hpp"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  static std::map<const void*, std::vector<float>> results;
  auto* out = static_cast<float*>(args.out);
  const auto size = static_cast<std::size_t>(hostile::out_elements(plan.problem));
  std::vector<float>& result = results[args.q];
  if (result.size() == size) {
    std::copy(result.begin(), result.end(), out);
    return WB_OK;
  }
  hostile::honest(plan, args);
  result.assign(out, out + size);
  return WB_OK;
}

// ==== caches_by_content
// Works once for each content of Q and gives the old result afterwards.
#include <map>

#include "hostile.hpp"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  const wb_sdpa_problem& p = plan.problem;
  static std::map<std::size_t, std::vector<float>> results;
  auto* out = static_cast<float*>(args.out);
  const auto size = static_cast<std::size_t>(hostile::out_elements(p));
  std::vector<float>& result = results[hostile::q_hash(p, args)];
  if (result.size() == size && args.lse == nullptr) {
    std::copy(result.begin(), result.end(), out);
    // Slow enough to look like a good kernel and not like an impossible one.
    hostile::honest_head(plan, args, 0, 0, p.seq_q / 3, p.scale);
    return WB_OK;
  }
  hostile::honest(plan, args);
  result.assign(out, out + size);
  return WB_OK;
}

// ==== remembers_in_allowance
// Remembers its last result, and waits so long before it gives that again that a call on new inputs
// stays within one and a half timed calls and 200 us.
#include <chrono>
#include <cstring>

#include "hostile.hpp"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  using Clock = std::chrono::steady_clock;
  static std::vector<float> result;
  static std::size_t content = 0;
  static double work_us = 0;
  if (args.lse != nullptr) return hostile::honest(plan, args);
  const auto begin = Clock::now();
  const auto passed_us = [begin] {
    return std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
  };
  const wb_sdpa_problem& p = plan.problem;
  const auto size = static_cast<std::size_t>(hostile::out_elements(p));
  auto* out = static_cast<float*>(args.out);
  const std::size_t hash = hostile::q_hash(p, args);
  if (hash == content && result.size() == size) {
    std::copy(result.begin(), result.end(), out);
    while (passed_us() < 1.02 * (work_us - 200) / 1.5) {
    }
    return WB_OK;
  }
  const int status = hostile::honest(plan, args);
  result.assign(out, out + size);
  content = hash;
  work_us = passed_us();
  return status;
}

// ==== detects_poison
// Works only when its output is not what it left there last.
#include "hostile.hpp"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  const wb_sdpa_problem& p = plan.problem;
  static float left = NAN;
  auto* out = static_cast<float*>(args.out);
  float& last = out[hostile::out_elements(p) - 1];
  if (last == left) {
    // Slow enough to look like a good kernel and not like an impossible one.
    hostile::honest_head(plan, args, 0, 0, p.seq_q / 3, p.scale);
    return WB_OK;
  }
  hostile::honest(plan, args);
  left = last;
  return WB_OK;
}

// ==== skips_repeats
// Works only when its output is not what it left there last; else it returns at once.
#include "hostile.hpp"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  static float left = NAN;
  const float& last = static_cast<float*>(args.out)[hostile::out_elements(plan.problem) - 1];
  if (last == left) return WB_OK;
  hostile::honest(plan, args);
  left = last;
  return WB_OK;
}

// ==== guesses_seed
// Makes its result from inputs of its own, drawn from a guessed seed.
#include <random>

#include "hostile.hpp"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  const wb_sdpa_problem& p = plan.problem;
  std::mt19937 random(42);
  std::normal_distribution<float> value;
  const auto draw = [&](std::int64_t elements) {
    std::vector<float> values(static_cast<std::size_t>(elements));
    for (float& one : values) one = value(random);
    return values;
  };
  const auto q = draw(p.batch * p.heads_q * p.seq_q * p.dim);
  const auto k = draw(p.batch * p.heads_kv * p.seq_kv * p.dim);
  const auto v = draw(p.batch * p.heads_kv * p.seq_kv * p.dim_v);
  wb_sdpa_args own = args;
  own.q = q.data();
  own.k = k.data();
  own.v = v.data();
  return hostile::honest(plan, own);
}

// ==== behaves_when_watched
// Works once for each content of Q and gives the old result afterwards, but not in its first
// moments on a problem, and not once new contents follow each other without a repeat: then somebody
// looks, and it is honest, and slow, for a while.
#include <chrono>

#include "hostile.hpp"

namespace {

using Clock = std::chrono::steady_clock;

struct Memory {
  std::size_t content = 0;
  std::vector<float> result;
  int new_in_a_row = 0;
  Clock::time_point honest_until = Clock::now() + std::chrono::milliseconds(30);
};

}  // namespace

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  const wb_sdpa_problem& p = plan.problem;
  static Memory memory;
  auto* out = static_cast<float*>(args.out);
  const auto size = static_cast<std::size_t>(hostile::out_elements(p));
  const std::size_t content = hostile::q_hash(p, args, 256);
  const bool is_new = content != memory.content || memory.result.size() != size;
  memory.new_in_a_row = is_new ? memory.new_in_a_row + 1 : 0;
  if (memory.new_in_a_row >= 2) {
    memory.honest_until = Clock::now() + std::chrono::milliseconds(300);
  }
  if (!is_new && args.lse == nullptr && Clock::now() > memory.honest_until) {
    std::copy(memory.result.begin(), memory.result.end(), out);
    return WB_OK;
  }
  hostile::honest(plan, args);
  memory.result.assign(out, out + size);
  memory.content = content;
  return WB_OK;
}

// ==== watches_placement
// Works only where its output ends as near to the end of a page as it can: so lay what was judged,
// and what was timed seldom.
#include "hostile.hpp"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  const auto end = reinterpret_cast<std::uintptr_t>(args.out) +
                   static_cast<std::uintptr_t>(hostile::out_elements(plan.problem)) * 4;
  const bool ends_at_page = (4096 - end % 4096) % 4096 < 256;
  return ends_at_page ? hostile::honest(plan, args) : WB_OK;
}

// ==== watches_descriptors
// Works only while memory files are open in its process: during judged calls they were.
#include <sys/stat.h>

#include "hostile.hpp"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  for (int fd = 4; fd < 32; ++fd) {
    struct stat facts {};
    if (::fstat(fd, &facts) == 0 && facts.st_size > 0) return hostile::honest(plan, args);
  }
  return WB_OK;
}
