// SPDX-License-Identifier: MIT
// Channel: the private message socket between the supervisor and one child. One JSON object per
// packet, with descriptors, sizes capped. Used by both ends; the supervisor trusts no message.
#pragma once

#include <chrono>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "core/files.hpp"
#include "core/json.hpp"

namespace wb::worker {

using Deadline = std::chrono::steady_clock::time_point;

inline Deadline deadline_in(std::chrono::milliseconds delay) {
  return std::chrono::steady_clock::now() + delay;
}

/// Descriptors that end a wait early: the wire (hang-up only) and a signalfd (readable). -1: none.
struct CancelSource {
  int wire_fd = -1;
  int signal_fd = -1;
};

enum class ChannelFault {
  closed,    ///< the peer ended or closed its end
  timeout,   ///< the deadline passed
  canceled,  ///< a cancel source fired
  garbage    ///< a packet that is too long or no JSON object
};
std::string_view to_string(ChannelFault value);

struct Message {
  Json body = Json::object();
  std::vector<UniqueFd> fds;
};

inline constexpr std::size_t k_max_message_bytes = 64u << 10;
inline constexpr std::size_t k_max_message_fds = 8;

class Channel {
 public:
  Channel() = default;
  explicit Channel(UniqueFd socket) : m_socket(std::move(socket)) {}

  /// Two connected ends (SOCK_SEQPACKET, close-on-exec).
  static Result<std::pair<UniqueFd, UniqueFd>> make_pair();

  /// Never blocks: a peer whose full buffer it does not read counts as closed.
  Expected<void, ChannelFault> send(const Json& body, std::span<const int> fds = {}) const;
  Expected<Message, ChannelFault> receive(Deadline deadline, CancelSource cancel = {}) const;
  /// Returns when the peer closes its end, when `other_fd` is readable, or at the deadline; a
  /// cancel source is a fault. Reads no packet.
  Expected<void, ChannelFault> wait_beside(int other_fd, Deadline deadline,
                                           CancelSource cancel) const;
  /// True when a packet is waiting; after a turn there must be none.
  [[nodiscard]] bool has_pending() const;
  [[nodiscard]] int fd() const { return m_socket.get(); }
  void close() { m_socket.reset(); }

 private:
  UniqueFd m_socket;
};

}  // namespace wb::worker
