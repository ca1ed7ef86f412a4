// SPDX-License-Identifier: MIT
#include "core/tar_gz.hpp"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>
#include <stdexcept>

#include "core/files.hpp"

namespace wb {
namespace {

constexpr std::size_t k_block_bytes = 512;
constexpr std::size_t k_max_member_bytes = (std::size_t{8} << 30) - 1;  // 11 octal digits
constexpr int k_gzip_window_bits = 15 + 16;                             // a gzip header around it

// Where the fields of a ustar header lie (POSIX.1-1988).
struct Field {
  std::size_t at, size;
};
constexpr Field k_name{0, 100}, k_mode{100, 8}, k_uid{108, 8}, k_gid{116, 8}, k_size{124, 12},
    k_mtime{136, 12}, k_checksum{148, 8}, k_type{156, 1}, k_magic{257, 8}, k_prefix{345, 155};

struct SplitPath {
  std::string_view prefix, name;
};

std::optional<SplitPath> split_path(std::string_view path) {
  if (path.size() <= k_name.size) return SplitPath{{}, path};
  for (std::size_t slash = path.find('/'); slash != std::string_view::npos;
       slash = path.find('/', slash + 1)) {
    if (slash <= k_prefix.size && path.size() - slash - 1 <= k_name.size) {
      return SplitPath{path.substr(0, slash), path.substr(slash + 1)};
    }
  }
  return std::nullopt;
}

void put(std::array<char, k_block_bytes>& header, Field field, std::string_view text) {
  std::copy_n(text.begin(), std::min(text.size(), field.size), header.begin() + field.at);
}

/// Zero-filled octal digits and a NUL.
void put_octal(std::array<char, k_block_bytes>& header, Field field, std::size_t value) {
  for (std::size_t digit = field.size - 1; digit-- > 0; value /= 8) {
    header[field.at + digit] = static_cast<char>('0' + value % 8);
  }
}

std::array<char, k_block_bytes> header_of(const SplitPath& path, std::size_t bytes) {
  std::array<char, k_block_bytes> header{};
  put(header, k_name, path.name);
  put(header, k_prefix, path.prefix);
  put_octal(header, k_mode, 0644);
  put_octal(header, k_uid, 0);
  put_octal(header, k_gid, 0);
  put_octal(header, k_size, bytes);
  put_octal(header, k_mtime, 0);
  put(header, k_type, "0");
  put(header, k_magic, std::string_view("ustar\00000", 8));
  put(header, k_checksum, "        ");
  const std::size_t sum = std::accumulate(
      header.begin(), header.end(), std::size_t{0},
      [](std::size_t total, char c) { return total + static_cast<unsigned char>(c); });
  put_octal(header, {k_checksum.at, k_checksum.size - 1}, sum);
  return header;
}

}  // namespace

struct TarGz::State {
  z_stream stream{};
  std::string out;

  State() {
    if (deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, k_gzip_window_bits, 8,
                     Z_DEFAULT_STRATEGY) != Z_OK) {
      throw std::bad_alloc();
    }
  }
  ~State() { deflateEnd(&stream); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  void write(std::string_view bytes, int flush = Z_NO_FLUSH) {
    constexpr std::size_t k_most = std::size_t{1} << 30;  // zlib counts in 32 bits
    do {
      const std::string_view part = bytes.substr(0, k_most);
      bytes.remove_prefix(part.size());
      stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(part.data()));
      stream.avail_in = static_cast<uInt>(part.size());
      do {
        std::array<char, 1u << 16> buffer{};
        stream.next_out = reinterpret_cast<Bytef*>(buffer.data());
        stream.avail_out = static_cast<uInt>(buffer.size());
        if (deflate(&stream, bytes.empty() ? flush : Z_NO_FLUSH) == Z_STREAM_ERROR) {
          throw std::logic_error("deflate was called out of order");
        }
        out.append(buffer.data(), buffer.size() - stream.avail_out);
      } while (stream.avail_out == 0);
    } while (!bytes.empty());
  }
};

TarGz::TarGz() : m_state(std::make_unique<State>()) {}
TarGz::~TarGz() = default;
TarGz::TarGz(TarGz&&) noexcept = default;
TarGz& TarGz::operator=(TarGz&&) noexcept = default;

Result<void> TarGz::add(const std::string& path, std::string_view bytes) {
  const auto refuse = [&](ErrorCode code, std::string cause) {
    return Error{code, "put into the archive", printable(path), std::move(cause), {}};
  };
  if (!is_inside(path) || path.find('\0') != std::string::npos) {
    return refuse(ErrorCode::invalid, "it is no path below a folder");
  }
  const auto split = split_path(path);
  if (!split) return refuse(ErrorCode::invalid, "its name is too long for a tar archive");
  if (bytes.size() > k_max_member_bytes) return refuse(ErrorCode::limit, "it is over 8 GiB");
  const auto header = header_of(*split, bytes.size());
  m_state->write({header.data(), header.size()});
  m_state->write(bytes);
  const std::size_t rest = bytes.size() % k_block_bytes;
  if (rest > 0) m_state->write(std::string(k_block_bytes - rest, '\0'));
  return {};
}

std::string TarGz::finish() {
  m_state->write(std::string(2 * k_block_bytes, '\0'), Z_FINISH);
  return std::move(m_state->out);
}

}  // namespace wb
