// SPDX-License-Identifier: MIT
// Failures caused by the machine rather than by a subject, and those of a subject at work.
#pragma once

#include <string>
#include <utility>

#include "core/error.hpp"

namespace wb::worker {

inline Failure environment(std::string message, std::string output = {}) {
  return Failure{Invalidity::environment, std::move(message), std::move(output)};
}

inline Failure runtime_failure(std::string message) {
  return Failure{Invalidity::runtime, std::move(message), {}};
}

/// An Error of the machine as a Failure.
template <typename Value>
Outcome<Value> as_outcome(Result<Value> result) {
  if (!result.ok()) return environment(result.error().message());
  return *std::move(result);
}

}  // namespace wb::worker
