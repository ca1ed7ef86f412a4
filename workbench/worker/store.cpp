// SPDX-License-Identifier: MIT
#include "worker/store.hpp"

#include <fmt/format.h>

#include "core/hash.hpp"

namespace wb::worker {
namespace {

Error refused(ErrorCode code, std::string_view sha256, std::string cause, std::string next = {}) {
  return Error{code, "store", fmt::format("file {}", short_hash(std::string(sha256))),
               std::move(cause), std::move(next)};
}

}  // namespace

Result<Store> Store::create() {
  WB_TRY_ASSIGN(TempDirectory folder, TempDirectory::create("sdpa-wb-worker-"));
  return Store(std::move(folder));
}

fs::path Store::path_of(std::string_view sha256) const {
  return m_folder.path() / sha256;
}

Result<protocol::PutResult> Store::put(const protocol::PutArgs& chunk) {
  WB_TRY_ASSIGN(const std::string bytes, protocol::base64_decode(chunk.data_base64));
  const auto total = static_cast<std::uint64_t>(chunk.total_bytes);
  if (bytes.size() > protocol::k_put_chunk_bytes) {
    return refused(ErrorCode::limit, chunk.sha256, "a chunk holds more than 512 KiB");
  }
  if (total > k_max_file_bytes || m_total_bytes + total > k_max_store_bytes) {
    return refused(ErrorCode::limit, chunk.sha256, "it is bigger than this worker keeps",
                   "make the artifact smaller or start a fresh worker");
  }
  if (chunk.offset == 0) {
    m_parts.erase(chunk.sha256);
    if (m_parts.size() >= k_max_open_parts) {
      return refused(ErrorCode::limit, chunk.sha256, "too many files are half sent",
                     "finish one before the next");
    }
    m_parts[chunk.sha256].total_bytes = chunk.total_bytes;
  }
  const auto found = m_parts.find(chunk.sha256);
  if (found == m_parts.end() || found->second.total_bytes != chunk.total_bytes ||
      static_cast<std::int64_t>(found->second.bytes.size()) != chunk.offset ||
      found->second.bytes.size() + bytes.size() > total) {
    return refused(ErrorCode::invalid, chunk.sha256, "this chunk does not follow the last one",
                   "send the chunks in order from offset 0");
  }
  Part& part = found->second;
  part.bytes += bytes;
  const auto received = static_cast<std::int64_t>(part.bytes.size());
  if (received < chunk.total_bytes) return protocol::PutResult{received, false};
  const std::string whole = std::move(part.bytes);
  m_parts.erase(found);
  if (sha256_hex(whole) != chunk.sha256) {
    return refused(ErrorCode::damaged, chunk.sha256, "the bytes do not have this hash",
                   "send it again");
  }
  WB_TRY(add(whole));
  return protocol::PutResult{received, true};
}

Result<std::string> Store::add(std::string_view bytes) {
  std::string sha256 = sha256_hex(bytes);
  if (has(sha256)) return sha256;
  WB_TRY(RealFileSystem().write_atomic(path_of(sha256), bytes, Durability::none));
  m_sizes[sha256] = bytes.size();
  m_total_bytes += bytes.size();
  return sha256;
}

Result<std::string> Store::verified_bytes(std::string_view sha256) const {
  if (!has(sha256)) {
    return refused(ErrorCode::not_found, sha256, "it was never put", "put it before it is named");
  }
  WB_TRY_ASSIGN(std::string bytes, RealFileSystem().read(path_of(sha256), k_max_file_bytes));
  if (sha256_hex(bytes) != sha256) {
    return refused(ErrorCode::damaged, sha256, "its bytes changed since it was put",
                   "start a fresh worker; a subject may have tampered with it");
  }
  return bytes;
}

Result<fs::path> Store::verified_path(std::string_view sha256) const {
  WB_TRY(verified_bytes(sha256));
  return path_of(sha256);
}

Result<void> Store::materialize(const std::vector<protocol::FileRef>& files,
                                const fs::path& folder) const {
  RealFileSystem file_system;
  for (const protocol::FileRef& file : files) {
    if (!is_inside(file.path)) {
      return refused(ErrorCode::invalid, file.sha256, "its path leaves the folder");
    }
    WB_TRY_ASSIGN(const std::string bytes, verified_bytes(file.sha256));
    const fs::path path = folder / file.path;
    WB_TRY(file_system.make_directories(path.parent_path()));
    WB_TRY(file_system.write_atomic(path, bytes, Durability::none));
  }
  return {};
}

}  // namespace wb::worker
