// SPDX-License-Identifier: MIT
#include "worker/channel.hpp"
#include "core/json.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstring>
#include <optional>

namespace wb::worker {
namespace {

constexpr int k_max_message_depth = 16;

union ControlBuffer {
  cmsghdr header;  // for its alignment
  std::array<char, CMSG_SPACE(sizeof(int) * k_max_message_fds)> bytes;
};

int poll_ms(Deadline deadline) {
  const auto left =
      std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
  if (left.count() <= 0) return 0;
  return left.count() > INT_MAX ? INT_MAX : static_cast<int>(left.count());
}

/// Nothing when the socket is ready to read.
std::optional<ChannelFault> wait_readable(int fd, Deadline deadline, CancelSource cancel) {
  std::array<pollfd, 3> waits{
      {{fd, POLLIN, 0}, {cancel.wire_fd, POLLRDHUP, 0}, {cancel.signal_fd, POLLIN, 0}}};
  while (true) {
    const int timeout_ms = poll_ms(deadline);
    const int ready = ::poll(waits.data(), waits.size(), timeout_ms);
    if (ready < 0) {
      if (errno == EINTR) continue;
      return ChannelFault::closed;
    }
    if (waits[1].revents != 0 || waits[2].revents != 0) return ChannelFault::canceled;
    if (waits[0].revents != 0) return std::nullopt;
    if (timeout_ms == 0) return ChannelFault::timeout;
  }
}

std::vector<UniqueFd> take_fds(msghdr& header) {
  std::vector<UniqueFd> fds;
  for (cmsghdr* part = CMSG_FIRSTHDR(&header); part != nullptr; part = CMSG_NXTHDR(&header, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(part) + i * sizeof fd, sizeof fd);
      fds.emplace_back(fd);
    }
  }
  return fds;
}

}  // namespace

std::string_view to_string(ChannelFault value) {
  switch (value) {
    case ChannelFault::closed:
      return "closed";
    case ChannelFault::timeout:
      return "timeout";
    case ChannelFault::canceled:
      return "canceled";
    case ChannelFault::garbage:
      return "garbage";
  }
  return "?";
}

Result<std::pair<UniqueFd, UniqueFd>> Channel::make_pair() {
  std::array<int, 2> ends{-1, -1};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return errno_error("create a socket pair", {}, errno);
  }
  return std::pair(UniqueFd(ends[0]), UniqueFd(ends[1]));
}

Expected<void, ChannelFault> Channel::send(const Json& body, std::span<const int> fds) const {
  std::string text = body.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (text.size() > k_max_message_bytes || fds.size() > k_max_message_fds) {
    return ChannelFault::garbage;
  }
  iovec part{text.data(), text.size()};
  ControlBuffer control{};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  if (!fds.empty()) {
    header.msg_control = control.bytes.data();
    header.msg_controllen = CMSG_SPACE(fds.size_bytes());
    cmsghdr* rights = CMSG_FIRSTHDR(&header);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(fds.size_bytes());
    std::memcpy(CMSG_DATA(rights), fds.data(), fds.size_bytes());
  }
  while (true) {
    const ssize_t sent = ::sendmsg(m_socket.get(), &header, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent == static_cast<ssize_t>(text.size())) return {};
    if (sent < 0 && errno == EINTR) continue;
    return ChannelFault::closed;
  }
}

Expected<Message, ChannelFault> Channel::receive(Deadline deadline, CancelSource cancel) const {
  if (const auto fault = wait_readable(m_socket.get(), deadline, cancel)) return *fault;
  std::string text(k_max_message_bytes, '\0');
  iovec part{text.data(), text.size()};
  ControlBuffer control{};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  header.msg_control = control.bytes.data();
  header.msg_controllen = control.bytes.size();
  ssize_t got = 0;
  do {
    got = ::recvmsg(m_socket.get(), &header, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
  } while (got < 0 && errno == EINTR);
  if (got <= 0) return ChannelFault::closed;
  Message message;
  message.fds = take_fds(header);
  if ((header.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0) return ChannelFault::garbage;
  text.resize(static_cast<std::size_t>(got));
  Result<Json> body = parse_json(text, "a message", {k_max_message_bytes, k_max_message_depth});
  if (!body.ok() || !body->is_object()) return ChannelFault::garbage;
  message.body = *std::move(body);
  return message;
}

Expected<void, ChannelFault> Channel::wait_beside(int other_fd, Deadline deadline,
                                                  CancelSource cancel) const {
  std::array<pollfd, 4> waits{{{m_socket.get(), 0, 0},
                               {other_fd, POLLIN, 0},
                               {cancel.wire_fd, POLLRDHUP, 0},
                               {cancel.signal_fd, POLLIN, 0}}};
  if (::poll(waits.data(), waits.size(), poll_ms(deadline)) <= 0) return {};
  if (waits[2].revents != 0 || waits[3].revents != 0) return ChannelFault::canceled;
  return {};
}

bool Channel::has_pending() const {
  pollfd wait{m_socket.get(), POLLIN, 0};
  return ::poll(&wait, 1, 0) > 0 && (wait.revents & POLLIN) != 0;
}

}  // namespace wb::worker
