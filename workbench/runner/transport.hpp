// SPDX-License-Identifier: MIT
// The transport seam: a two-way line channel to one sdpa-wb-worker. A transport is a command prefix
// (nothing, `ssh NODE`, `docker exec -i CONTAINER`), so compiler and worker may be on two machines.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.hpp"
#include "core/process.hpp"

namespace wb::runner {

class Transport {
 public:
  virtual ~Transport() = default;
  /// Errors: canceled (the worker has ended), limit (deadline), io.
  virtual Result<void> send(std::string_view line, std::chrono::milliseconds deadline) = 0;
  virtual Result<std::string> receive(std::chrono::milliseconds deadline) = 0;
  /// Closes the wire, which is the only way to cancel: the worker kills its children and exits.
  virtual void close() = 0;
  /// "local", "ssh node7", for the environment record.
  [[nodiscard]] virtual std::string description() const = 0;
};

/// The command to start: prefix + {worker program}. An empty prefix is the local transport.
struct TransportSpec {
  std::vector<std::string> prefix;
  std::string worker = "sdpa-wb-worker";  ///< path or name on the worker's machine
};

/// Errors: not_found (no such program: names the searched places), io.
Result<std::unique_ptr<Transport>> open_command_transport(const TransportSpec& spec);

}  // namespace wb::runner
