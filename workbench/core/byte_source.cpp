// SPDX-License-Identifier: MIT
#include "core/byte_source.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <vector>

namespace wb {
namespace {

constexpr std::size_t k_packed_bytes = 1u << 18;
constexpr std::uint64_t k_set_aside_bytes = 64u << 20;  // upper limit, whatever a file claims
constexpr int k_gzip_window_bits = 15 + 16;             // zlib: the largest window, gzip header

class PlainFile final : public ByteSource {
 public:
  PlainFile(UniqueFd fd, fs::path path) : m_fd(std::move(fd)), m_path(std::move(path)) {}

  Result<std::size_t> read(std::span<char> into) override {
    ssize_t got = 0;
    do {
      got = ::read(m_fd.get(), into.data(), into.size());
    } while (got == -1 && errno == EINTR);
    if (got < 0) return errno_error("read", m_path, errno);
    return static_cast<std::size_t>(got);
  }

 private:
  UniqueFd m_fd;
  fs::path m_path;
};

class Memory final : public ByteSource {
 public:
  explicit Memory(std::string_view bytes) : m_rest(bytes) {}

  Result<std::size_t> read(std::span<char> into) override {
    const std::size_t taken = m_rest.copy(into.data(), into.size());
    m_rest.remove_prefix(taken);
    return taken;
  }

 private:
  std::string_view m_rest;
};

class Unpacked final : public ByteSource {
 public:
  Unpacked(std::unique_ptr<ByteSource> packed, fs::path path)
      : m_source(std::move(packed)), m_path(std::move(path)), m_packed(k_packed_bytes) {
    m_ready = inflateInit2(&m_stream, k_gzip_window_bits) == Z_OK;
  }
  Unpacked(const Unpacked&) = delete;
  Unpacked& operator=(const Unpacked&) = delete;
  ~Unpacked() override { inflateEnd(&m_stream); }

  Result<std::size_t> read(std::span<char> into) override {
    if (!m_ready) return damaged("zlib could not start");
    m_stream.next_out = reinterpret_cast<Bytef*>(into.data());
    m_stream.avail_out = static_cast<uInt>(std::min<std::size_t>(into.size(), 1u << 30));
    const uInt room = m_stream.avail_out;
    while (m_stream.avail_out == room) {
      if (m_stream.avail_in == 0) {
        WB_TRY_ASSIGN(const std::size_t got, m_source->read(m_packed));
        if (got == 0) {
          if (m_inside) return damaged("its gzip data end early");
          return std::size_t{0};
        }
        m_stream.next_in = reinterpret_cast<Bytef*>(m_packed.data());
        m_stream.avail_in = static_cast<uInt>(got);
      }
      if (!m_inside) {
        inflateReset(&m_stream);
        m_inside = true;
      }
      const int state = inflate(&m_stream, Z_NO_FLUSH);
      if (state == Z_STREAM_END) {
        m_inside = false;
      } else if (state != Z_OK && state != Z_BUF_ERROR) {
        return damaged(m_stream.msg != nullptr ? m_stream.msg : "its gzip data are damaged");
      }
    }
    return static_cast<std::size_t>(room - m_stream.avail_out);
  }

 private:
  [[nodiscard]] Error damaged(std::string cause) const {
    return Error{ErrorCode::damaged, "unpack", m_path.string(), std::move(cause),
                 "copy the file again"};
  }

  std::unique_ptr<ByteSource> m_source;
  fs::path m_path;
  std::vector<char> m_packed;
  z_stream m_stream{};
  bool m_ready = false;
  bool m_inside = false;  // inside a member, between its header and its checksum
};

/// `expected_bytes`: reserved at once, so that a long text is not copied as it grows.
Result<std::string> all_of(ByteSource& source, const fs::path& path, std::uint64_t max_bytes,
                           std::uint64_t expected_bytes = 0) {
  std::string text;
  text.reserve(std::min(expected_bytes, max_bytes));
  std::vector<char> part(k_packed_bytes);
  while (true) {
    WB_TRY_ASSIGN(const std::size_t got, source.read(part));
    if (got == 0) return text;
    if (text.size() + got > max_bytes) {
      return Error{ErrorCode::limit, "read", path.string(),
                   fmt::format("it holds more than {} bytes", max_bytes), ""};
    }
    text.append(part.data(), got);
  }
}

/// The size that its last member claims, unverified.
std::uint64_t told_bytes(std::string_view packed) {
  std::uint64_t told = 0;
  for (std::size_t i = 1; i <= 4 && i <= packed.size(); ++i) {
    told = told << 8 | static_cast<unsigned char>(packed[packed.size() - i]);
  }
  return std::min(told, k_set_aside_bytes);
}

}  // namespace

Result<OpenedFile> open_bytes(const fs::path& path) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd.valid()) return errno_error("open", path, errno);
  struct stat facts {};
  if (fstat(fd.get(), &facts) != 0) return errno_error("open", path, errno);
  if (!S_ISREG(facts.st_mode)) {
    return Error{ErrorCode::invalid, "open", path.string(), "it is not a regular file",
                 "name a file, plain or gzip"};
  }
  std::array<unsigned char, 2> magic{};
  const ssize_t got = pread(fd.get(), magic.data(), magic.size(), 0);
  if (got < 0) return errno_error("read", path, errno);
  OpenedFile opened;
  opened.size_bytes = static_cast<std::uint64_t>(facts.st_size);
  opened.gzip = got == 2 && magic[0] == 0x1f && magic[1] == 0x8b;
  opened.source = std::make_unique<PlainFile>(std::move(fd), path);
  if (opened.gzip) opened.source = std::make_unique<Unpacked>(std::move(opened.source), path);
  return opened;
}

Result<std::string> read_all(const fs::path& path, std::uint64_t max_bytes) {
  WB_TRY_ASSIGN(const OpenedFile opened, open_bytes(path));
  return all_of(*opened.source, path, max_bytes);
}

Result<std::string> unpack_gzip(std::string_view packed, const fs::path& path,
                                std::uint64_t max_bytes) {
  if (!packed.starts_with("\x1f\x8b")) {
    return Error{ErrorCode::damaged, "unpack", path.string(), "it is not packed by gzip",
                 "copy the file again"};
  }
  Unpacked source(std::make_unique<Memory>(packed), path);
  return all_of(source, path, max_bytes, told_bytes(packed));
}

}  // namespace wb
