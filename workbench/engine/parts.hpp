// SPDX-License-Identifier: MIT
// The parts of a Context, one at a time, for code that uses some of them and need not know the
// others: a verb includes this and the header of the part, and is not compiled again when another
// part changes. Code that changes the state of the held session includes context.hpp.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/error.hpp"
#include "core/json_fwd.hpp"

namespace wb::session {
class Session;  // session/session.hpp
}
namespace wb::variant {
class ArtifactCache;  // variant/builder.hpp
class Catalogue;      // variant/variant.hpp
}  // namespace wb::variant

namespace wb::engine {

struct Context;
class RecentSession;     // recorded.hpp
struct Services;         // services.hpp
struct SessionSettings;  // settings.hpp
struct Subject;          // subject.hpp
class Worker;            // worker.hpp

const Services& services_of(const Context& context);
const SessionSettings& settings_of(const Context& context);
variant::ArtifactCache& cache_of(Context& context);
const variant::Catalogue& catalogue_of(const Context& context);
RecentSession& recent_of(const Context& context);
Worker& worker_of(const Context& context);
/// The held session; nullptr outside.
const session::Session* session_of(const Context& context);
/// The incumbent; nullptr before the baseline.
const Subject* incumbent_of(const Context& context);

/// Context::log() and Context::check_stop().
Result<std::int64_t> log_event(Context& context, std::string_view type, Json payload);
Result<void> check_stop(const Context& context);

}  // namespace wb::engine
