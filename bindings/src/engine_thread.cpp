// SPDX-License-Identifier: MIT
#include "engine_thread.hpp"
#include "core/json.hpp"

#include <fmt/format.h>
#include <pthread.h>

#include <csignal>
#include <exception>
#include <filesystem>
#include <fstream>
#include <utility>

#include "core/inherited.hpp"
#include "core/process.hpp"
#include "playbook/playbook.hpp"
#include "session/session.hpp"
#include "verbs/table.hpp"

namespace wb::python {
namespace {

/// How long requests in flight get after a stop before the children that hold them up are ended.
constexpr auto k_stop_grace = std::chrono::seconds(3);
/// The caller might never read news, so only the latest are kept.
constexpr std::size_t k_max_news = 1000;

std::string next_name() {
  static std::atomic<unsigned> count{0};
  return fmt::format("wb-engine-{}", ++count % 10'000);  // the system keeps 15 characters
}

/// Blocks signals in this thread, because Python's main thread handles them.
void block_signals() {
  sigset_t all;
  sigfillset(&all);
  for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) sigdelset(&all, fault);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);
}

/// Ends the direct children of the threads of this name (workers, playbook hosts, compilers), and
/// no others: a Python process may have children of its own.
void end_children_of(const std::string& thread_name) {
  std::error_code error;
  for (const auto& task : fs::directory_iterator("/proc/self/task", error)) {
    std::string name;
    std::getline(std::ifstream(task.path() / "comm"), name);
    if (name != thread_name) continue;
    std::ifstream children(task.path() / "children");
    for (pid_t pid = 0; children >> pid;) kill(pid, SIGTERM);
  }
}

Json progress_json(const engine::Progress& progress) {
  const auto number = [](const std::optional<double>& value) {
    return value ? Json(*value) : Json(nullptr);
  };
  return {{"kind", "progress"},
          {"stage", progress.stage},
          {"what", progress.what},
          {"done", progress.done},
          {"total", progress.total},
          {"iteration", progress.iteration},
          {"best_speedup", number(progress.best_speedup)},
          {"elapsed_s", progress.elapsed_s},
          {"left_s", number(progress.left_s)},
          {"cost_usd", number(progress.cost_usd)},
          {"is_list_price", progress.is_list_price}};
}

}  // namespace

EngineThread::EngineThread(cli::GlobalOptions options)
    : m_options(std::move(options)), m_name(next_name()), m_thread([this] { serve(); }) {}

EngineThread::~EngineThread() {
  request_stop();
  std::vector<Json> unheard;
  {
    const std::lock_guard lock(m_mutex);
    m_ending = true;
    m_changed.notify_all();
  }
  const auto runs = [this] {
    const std::lock_guard lock(m_mutex);
    return m_taken && !m_answer;
  };
  while (runs()) wait(std::chrono::milliseconds(100), unheard);
  m_thread.join();
}

bool EngineThread::post(const Task& task, std::chrono::milliseconds patience) {
  std::unique_lock lock(m_mutex);
  if (!m_changed.wait_for(lock, patience, [this] { return !m_taken; })) return false;
  m_taken = true;
  m_stop = false;
  m_hurry_at.reset();
  m_news.clear();
  m_question.reset();
  m_task = task;
  m_changed.notify_all();
  return true;
}

bool EngineThread::wait(std::chrono::milliseconds patience, std::vector<Json>& news) {
  std::unique_lock lock(m_mutex);
  m_changed.wait_for(lock, patience, [this] { return m_answer || m_question || !m_news.empty(); });
  for (Json& item : m_news) news.push_back(std::move(item));
  m_news.clear();
  if (!m_answer) hurry();
  return m_answer.has_value();
}

Result<Json> EngineThread::take_answer() {
  const std::lock_guard lock(m_mutex);
  Result<Json> answer = *std::move(m_answer);
  m_answer.reset();
  m_taken = false;
  m_changed.notify_all();
  return answer;
}

void EngineThread::request_stop() {
  const std::lock_guard lock(m_mutex);
  if (!m_taken || m_answer || m_stop) return;
  m_stop = true;
  m_changed.notify_all();
  m_hurry_at = std::chrono::steady_clock::now() + k_stop_grace;
}

fs::path EngineThread::held_session() const {
  const std::lock_guard lock(m_mutex);
  return m_session;
}

void EngineThread::hurry() {
  if (!m_hurry_at || std::chrono::steady_clock::now() < *m_hurry_at) return;
  m_hurry_at.reset();
  end_children_of(m_name);
}

void EngineThread::tell(Json news) {
  const std::lock_guard lock(m_mutex);
  if (m_news.size() == k_max_news) m_news.pop_front();
  m_news.push_back(std::move(news));
  m_changed.notify_all();
}

Result<Json> EngineThread::ask(const Json& question) {
  std::unique_lock lock(m_mutex);
  m_reply.reset();
  m_question = question;
  m_changed.notify_all();
  m_changed.wait(lock, [this] { return m_reply || m_stop; });
  m_question.reset();
  if (m_reply) return *std::exchange(m_reply, std::nullopt);
  return Error{ErrorCode::canceled, "ask", "the program", "it stops", "resume the session"};
}

std::optional<Json> EngineThread::take_question() {
  const std::lock_guard lock(m_mutex);
  return std::exchange(m_question, std::nullopt);
}

void EngineThread::reply(Result<Json> answer) {
  const std::lock_guard lock(m_mutex);
  m_reply = std::move(answer);
  m_changed.notify_all();
}

engine::Services EngineThread::services() {
  engine::Services services = cli::make_services(
      m_options, cli::Environment::read(), m_file_system, m_clock,
      [this](const engine::Progress& progress) { tell(progress_json(progress)); }, &m_stop);
  services.on_milestone = [this](const Json& milestone) {
    Json news = milestone;
    news["kind"] = "milestone";
    tell(std::move(news));
  };
  services.ask_program = [this](const Json& question) { return ask(question); };
  return services;
}

Result<Json> EngineThread::answer_to(std::optional<engine::Engine>& engine, const Task& task) {
  const auto internal = [](std::string cause) {
    return Error{ErrorCode::internal, "run", "the verb", std::move(cause),
                 "this is a fault of the workbench: please report it"};
  };
  // Signals, umask and working folder belong to the program: obstacles are reported, not changed.
  fill_standard_descriptors();
  if (const auto fit = check_inherited(); !fit) return fit.error();
  try {
    if (!engine) {
      if (const auto fit = cli::check_options(m_options); !fit) return fit.error();
      engine.emplace(services(), verbs::runnable());
      playbook::register_playbook_verbs(*engine, {m_options.programs / "sdpa-wb", {}});
    }
    Result<Json> answer = task(*engine);
    if (answer || answer.error().code != ErrorCode::canceled) return answer;
    if (const auto paused = engine->pause("stopped by its Python program"); !paused) {
      Error error = answer.error();
      error.next = paused.error().message();
      return error;
    }
    return answer;
  } catch (const fs::filesystem_error& error) {
    return errno_error("work with", error.path1(), error.code().value());
  } catch (const std::system_error& error) {
    return Error{ErrorCode::environment, "run", "the verb", error.what(), k_more_processes};
  } catch (const std::exception& error) {
    return internal(error.what());
  }
}

void EngineThread::serve() {
  pthread_setname_np(pthread_self(), m_name.c_str());
  block_signals();
  std::optional<engine::Engine> engine;
  std::unique_lock lock(m_mutex);
  while (true) {
    m_changed.wait(lock, [this] { return m_task || m_ending; });
    if (!m_task) return;
    const Task task = *std::exchange(m_task, std::nullopt);
    lock.unlock();
    Result<Json> answer = answer_to(engine, task);
    const fs::path session =
        engine && engine->session() != nullptr ? engine->session()->folder() : fs::path();
    // Without a session the engine must not keep state that the next session could see.
    if (session.empty() && !answer) engine.reset();
    lock.lock();
    m_session = session;
    m_answer = std::move(answer);
    m_changed.notify_all();
  }
}

}  // namespace wb::python
