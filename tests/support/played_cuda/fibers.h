// SPDX-License-Identifier: MIT
// The threads of a played block: one fiber each, which runs until it waits at a barrier. Included
// by cuda_runtime.h.
#pragma once

#include <setjmp.h>
#include <ucontext.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

struct dim3 {
  unsigned x = 1, y = 1, z = 1;
  dim3() = default;
  explicit dim3(unsigned of_x, unsigned of_y = 1, unsigned of_z = 1) : x(of_x), y(of_y), z(of_z) {}
};

inline dim3 threadIdx, blockIdx, gridDim;  // of the fiber that runs

namespace played {

constexpr std::size_t k_stack = 64 * 1024;
constexpr int k_warp = 32;

inline const char* fault = "";

struct Fiber {
  ucontext_t context;  // only to begin with: swapcontext() asks the kernel for signals each time
  jmp_buf place;       // where it waits
  bool begun = false;
  std::unique_ptr<char[]> stack;
  dim3 index;
  bool done = false;
  long waits_for = 0;  // barriers of the block; of the warp where in_warp
  bool in_warp = false;
};

/// A block's threads. Between two barriers they run one after the other, from the first or from the
/// last, in turns: code that needs a barrier which is not there meets both orders.
class Block {
 public:
  bool run(int threads, const std::function<void()>& body);
  void sync_block() { wait(false); }
  void sync_warp() { wait(true); }
  bool sync_block_or(bool value);
  float shuffle_xor(float value, int lanes);

 private:
  struct Warp {
    long passed = 0;
    float values[2][k_warp];  // by turns, so that one barrier a shuffle is enough
  };
  void wait(bool in_warp);
  bool may_run(const Fiber& fiber) const;
  void resume(Fiber& fiber);
  bool open_barriers();
  static void enter();

  std::vector<Fiber> m_fibers;
  std::vector<Warp> m_warps;
  std::size_t m_current = 0;
  long m_passed = 0;
  bool m_any[2] = {};  // by turns, as a warp's values
  jmp_buf m_scheduler;
  const std::function<void()>* m_body = nullptr;
};

inline Block block;

inline void Block::enter() {
  (*block.m_body)();
  block.m_fibers[block.m_current].done = true;
  _longjmp(block.m_scheduler, 1);
}

[[gnu::noinline]] inline void Block::resume(Fiber& fiber) {
  if (_setjmp(m_scheduler) != 0) return;
  if (std::exchange(fiber.begun, true)) _longjmp(fiber.place, 1);
  setcontext(&fiber.context);
}

[[gnu::noinline]] inline void Block::wait(bool in_warp) {
  Fiber& fiber = m_fibers[m_current];
  fiber.in_warp = in_warp;
  fiber.waits_for = (in_warp ? m_warps[m_current / k_warp].passed : m_passed) + 1;
  if (_setjmp(fiber.place) == 0) _longjmp(m_scheduler, 1);
}

inline float Block::shuffle_xor(float value, int lanes) {
  Warp& warp = m_warps[m_current / k_warp];
  const std::size_t lane = m_current % k_warp;
  float(&values)[k_warp] = warp.values[warp.passed % 2];
  values[lane] = value;
  wait(true);
  return values[lane ^ static_cast<std::size_t>(lanes)];
}

inline bool Block::sync_block_or(bool value) {
  bool& any = m_any[m_passed % 2];
  any = any || value;
  wait(false);
  return any;
}

inline bool Block::may_run(const Fiber& fiber) const {
  const std::size_t warp = static_cast<std::size_t>(&fiber - m_fibers.data()) / k_warp;
  return !fiber.done && fiber.waits_for <= (fiber.in_warp ? m_warps[warp].passed : m_passed);
}

/// Opens every barrier that all of its threads wait at; false when there is none.
inline bool Block::open_barriers() {
  const auto all_wait = [this](std::size_t from, std::size_t to, bool in_warp) {
    for (std::size_t i = from; i < to; ++i) {
      if (m_fibers[i].done || m_fibers[i].in_warp != in_warp) return false;
    }
    return true;
  };
  if (all_wait(0, m_fibers.size(), false)) {
    ++m_passed;
    m_any[m_passed % 2] = false;
    return true;
  }
  bool opened = false;
  for (std::size_t w = 0; w < m_warps.size(); ++w) {
    if (!all_wait(w * k_warp, (w + 1) * k_warp, true)) continue;
    ++m_warps[w].passed;
    opened = true;
  }
  return opened;
}

inline bool Block::run(int threads, const std::function<void()>& body) {
  m_body = &body;
  m_passed = 0;
  m_any[0] = false;
  m_fibers.resize(static_cast<std::size_t>(threads));
  m_warps.assign(m_fibers.size() / k_warp, {});
  for (std::size_t i = 0; i < m_fibers.size(); ++i) {
    Fiber& fiber = m_fibers[i];
    if (!fiber.stack) fiber.stack = std::make_unique<char[]>(k_stack);
    fiber.index = dim3(static_cast<unsigned>(i));
    fiber.begun = fiber.done = fiber.in_warp = false;
    fiber.waits_for = 0;
    getcontext(&fiber.context);
    fiber.context.uc_stack.ss_sp = fiber.stack.get();
    fiber.context.uc_stack.ss_size = k_stack;
    fiber.context.uc_link = nullptr;
    makecontext(&fiber.context, &Block::enter, 0);
  }
  for (bool backwards = false;; backwards = !backwards) {
    bool all_done = true;
    for (std::size_t n = 0; n < m_fibers.size(); ++n) {
      m_current = backwards ? m_fibers.size() - 1 - n : n;
      Fiber& fiber = m_fibers[m_current];
      threadIdx = fiber.index;
      if (may_run(fiber)) resume(fiber);
      all_done = all_done && fiber.done;
    }
    if (all_done) return true;
    if (open_barriers()) continue;
    fault = "threads wait at a barrier that others never reach";
    return false;
  }
}

}  // namespace played
