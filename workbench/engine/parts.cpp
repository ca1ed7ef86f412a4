// SPDX-License-Identifier: MIT
#include "engine/parts.hpp"

#include <utility>

#include "core/json.hpp"
#include "engine/context.hpp"

namespace wb::engine {

const Services& services_of(const Context& context) {
  return context.services;
}

const SessionSettings& settings_of(const Context& context) {
  return context.settings;
}

variant::ArtifactCache& cache_of(Context& context) {
  return context.cache;
}

const variant::Catalogue& catalogue_of(const Context& context) {
  return context.catalogue;
}

RecentSession& recent_of(const Context& context) {
  return *context.recent;
}

Worker& worker_of(const Context& context) {
  return *context.worker;
}

const session::Session* session_of(const Context& context) {
  return context.session ? &*context.session : nullptr;
}

const Subject* incumbent_of(const Context& context) {
  return context.incumbent ? &*context.incumbent : nullptr;
}

Result<std::int64_t> log_event(Context& context, std::string_view type, Json payload) {
  return context.log(type, std::move(payload));
}

Result<void> check_stop(const Context& context) {
  return context.check_stop();
}

}  // namespace wb::engine
