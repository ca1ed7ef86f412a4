// SPDX-License-Identifier: MIT
#include "engine/context.hpp"

#include <algorithm>

#include "core/json.hpp"
#include "engine/worker.hpp"

namespace wb::engine {

using session::CostItem;

Result<const session::Session*> RecentSession::read(FileSystem& file_system,
                                                    const fs::path& folder) {
  if (m_session && m_asked == folder) {
    WB_TRY_ASSIGN(const bool is_same, m_session->catch_up());
    if (is_same) return &*m_session;
  }
  m_session.reset();
  m_asked = folder;
  WB_TRY_ASSIGN(m_session, session::Session::open_reader(file_system, folder));
  return &*m_session;
}

Json Context::iteration_or_null() const {
  return iteration < 0 ? Json(nullptr) : Json(iteration);
}

Result<std::int64_t> Context::log(std::string_view type, Json payload) {
  if (!session) return std::int64_t{0};
  return session->append(type, payload);
}

Result<void> Context::check_stop() const {
  if (services.stop_requested != nullptr && services.stop_requested->load()) {
    return Error{ErrorCode::canceled, "go on with", "the session", "a stop was requested",
                 "run `sdpa-wb resume --session DIR` to go on"};
  }
  return {};
}

void Context::report_progress(Progress progress) const {
  if (!services.progress) return;
  progress.iteration = iteration;
  progress.elapsed_s = elapsed_s();
  progress.best_speedup = best_speedup;
  const session::Ledger::Total total = spent.total();
  if (total.complete) progress.cost_usd = total.usd;
  if (settings.budget.wall_s) {
    progress.left_s = *settings.budget.wall_s - progress.elapsed_s;
  } else if (settings.budget.evaluations && iteration >= 0) {
    // The baseline counts as one more; in an iteration, the present stage counts as half done.
    const double parts = static_cast<double>(*settings.budget.evaluations) + 1.0;
    const double share = std::min(1.0, (static_cast<double>(iteration) + 0.5) / parts);
    progress.left_s = progress.elapsed_s * (1.0 - share) / share;
  }
  services.progress(progress);
}

void Context::let_go() {
  static_cast<HeldSession&>(*this) = HeldSession{};
}

protocol::HelloArgs Context::wanted_hello() const {
  protocol::HelloArgs args = services.hello;
  args.gpu = settings.backend == "cuda" ? std::max<std::int64_t>(args.gpu, 0) : -1;
  if (session) {
    const auto view = session->current(session::FoldDepth::brief);
    if (view.ok() && (*view)->environment) {
      return as_recorded(args, (*view)->environment->payload, device::allowed_cpus());
    }
  }
  return args;
}

Outcome<runner::WorkerClient*> Context::need_worker() {
  if (worker && worker->alive() && worker_fits) return &*worker;
  const protocol::HelloArgs wanted = wanted_hello();
  if (worker && worker->alive() && wanted == hello_args) {
    worker_fits = true;
    return &*worker;
  }
  if (wanted != hello_args) device.reset();
  drop_worker();
  auto transport = services.open_transport();
  if (!transport) {
    return Failure{Invalidity::environment, transport.error().message(), ""};
  }
  worker.emplace(*std::move(transport));
  auto greeting = worker->hello(wanted);
  if (!greeting) {
    drop_worker();
    return std::move(greeting).error();
  }
  hello = *std::move(greeting);
  hello_args = wanted;
  worker_fits = true;
  if (!device) device = hello->device;
  return &*worker;
}

void Context::use_device_of(const variant::Manifest& manifest) {
  use_backend(variant::runs_on_gpu(manifest) ? "cuda" : "cpu");
}

void Context::use_backend(std::string_view backend) {
  if (session || settings.backend == backend) return;
  settings.backend = backend;
  drop_worker();
  hello.reset();
  device.reset();
}

void Context::collect_worker_time() {
  if (!worker) return;
  for (const auto& [verb, wall_s] : worker->take_wall_s()) {
    undebited_s[std::string(protocol::to_string(verb))] += wall_s;
  }
}

void Context::drop_worker() {
  collect_worker_time();  // time of a worker that died was spent all the same
  worker.reset();
}

Result<void> Context::debit(CostItem item, double quantity_s, std::string_view what, Json parts) {
  const auto usd = session::price_usd(settings.rates, item, quantity_s);
  spent.debit(item, quantity_s, usd);
  Json debited{{"iteration", iteration_or_null()},
               {"item", to_string(item)},
               {"quantity", quantity_s},
               {"unit", "s"},
               {"usd", usd ? Json(*usd) : Json(nullptr)},
               {"what", what}};
  if (!parts.is_null()) debited["parts"] = std::move(parts);
  WB_TRY(log("cost_debited", std::move(debited)));
  return {};
}

Result<void> Context::debit_compile(const variant::BuildRecord& record, std::string_view what) {
  return debit(CostItem::compile_cpu, record.cached ? 0.0 : record.cpu_s, what);
}

Result<void> Context::debit_device(std::string_view what) {
  collect_worker_time();
  if (undebited_s.empty()) return {};
  double quantity = 0;
  for (const auto& [verb, wall_s] : undebited_s) quantity += wall_s;
  WB_TRY(debit(CostItem::device, quantity, what, undebited_s));
  undebited_s.clear();
  return {};
}

double Context::elapsed_s() const {
  return std::chrono::duration<double>(services.clock.steady_now() - started).count();
}

}  // namespace wb::engine
