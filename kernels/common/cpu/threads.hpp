// SPDX-License-Identifier: MIT
// The thread pool of a CPU kernel's plan. By pthreads and the compilers' atomics, because <thread>,
// <mutex> and <atomic> are slow to compile (support.hpp).
#pragma once

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <new>

namespace wb_cpu {

/// How many CPUs the calling thread may run on, at least 1.
inline int allowed_cpus() {
  cpu_set_t set;
  const long count =
      sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : sysconf(_SC_NPROCESSORS_ONLN);
  return count < 1 ? 1 : static_cast<int>(count);
}

/// Threads that plan_create starts and that sleep between calls. The caller of run() works too.
class ThreadPool {
 public:
  /// Starts threads - 1 threads, or as many as the system gives: see complete().
  explicit ThreadPool(int threads)
      : m_wanted(threads > 1 ? threads - 1 : 0),
        m_threads(new (std::nothrow) pthread_t[static_cast<std::size_t>(m_wanted) + 1]) {
    while (m_threads != nullptr && m_started < m_wanted &&
           pthread_create(&m_threads[m_started], nullptr, serve_pool, this) == 0) {
      ++m_started;
    }
  }
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;
  ~ThreadPool() {
    {
      const Lock lock(m_mutex);
      m_stop = true;
    }
    pthread_cond_broadcast(&m_wake);
    for (int t = 0; t < m_started; ++t) pthread_join(m_threads[t], nullptr);
    delete[] m_threads;
    pthread_cond_destroy(&m_done);
    pthread_cond_destroy(&m_wake);
    pthread_mutex_destroy(&m_mutex);
  }
  /// False: the system refused a thread.
  [[nodiscard]] bool complete() const { return m_started == m_wanted; }
  /// The threads that run() can use, the caller's included.
  [[nodiscard]] int size() const { return m_started + 1; }

  /// body(task, slot) for every task in [0, tasks), each once, on at most `threads` threads with
  /// distinct slots in [0, threads). Returns when all are done. One call at a time.
  template <typename Body>
  void run(int threads, std::int64_t tasks, const Body& body) {
    std::int64_t helpers = threads < size() ? threads : size();
    helpers = (tasks < helpers ? tasks : helpers) - 1;
    if (helpers < 1) {
      for (std::int64_t task = 0; task < tasks; ++task) body(task, 0);
      return;
    }
    {
      const Lock lock(m_mutex);
      m_call = [](const void* context, std::int64_t task, int slot) {
        (*static_cast<const Body*>(context))(task, slot);
      };
      m_context = &body;
      m_tasks = tasks;
      m_next = 0;
      m_helpers_wanted = static_cast<int>(helpers);
      m_helpers_joined = 0;
    }
    for (std::int64_t t = 0; t < helpers; ++t) pthread_cond_signal(&m_wake);
    work(0);
    const Lock lock(m_mutex);
    m_helpers_wanted = 0;  // who wakes only now finds nothing to join
    while (m_helpers_active != 0) pthread_cond_wait(&m_done, &m_mutex);
  }

 private:
  class Lock {
   public:
    explicit Lock(pthread_mutex_t& mutex) : m_mutex(mutex) { pthread_mutex_lock(&m_mutex); }
    Lock(const Lock&) = delete;
    Lock& operator=(const Lock&) = delete;
    ~Lock() { pthread_mutex_unlock(&m_mutex); }

   private:
    pthread_mutex_t& m_mutex;
  };

  static void* serve_pool(void* pool) {
    static_cast<ThreadPool*>(pool)->serve();
    return nullptr;
  }
  void work(int slot) {
    for (;;) {
      const std::int64_t task = __atomic_fetch_add(&m_next, 1, __ATOMIC_RELAXED);
      if (task >= m_tasks) return;
      m_call(m_context, task, slot);
    }
  }
  void serve() {
    const Lock lock(m_mutex);
    for (;;) {
      while (!m_stop && m_helpers_joined >= m_helpers_wanted) {
        pthread_cond_wait(&m_wake, &m_mutex);
      }
      if (m_stop) return;
      const int slot = ++m_helpers_joined;
      ++m_helpers_active;
      pthread_mutex_unlock(&m_mutex);
      work(slot);
      pthread_mutex_lock(&m_mutex);
      if (--m_helpers_active == 0) pthread_cond_signal(&m_done);
    }
  }

  pthread_mutex_t m_mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t m_wake = PTHREAD_COND_INITIALIZER, m_done = PTHREAD_COND_INITIALIZER;
  int m_wanted, m_started = 0;
  pthread_t* m_threads;
  void (*m_call)(const void*, std::int64_t, int) = nullptr;
  const void* m_context = nullptr;
  std::int64_t m_tasks = 0, m_next = 0;
  int m_helpers_wanted = 0, m_helpers_joined = 0, m_helpers_active = 0;
  bool m_stop = false;
};

}  // namespace wb_cpu
