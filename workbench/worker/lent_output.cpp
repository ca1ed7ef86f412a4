// SPDX-License-Identifier: MIT
#include "worker/lent_output.hpp"
#include "core/json.hpp"

#include <utility>

namespace wb::worker {

std::vector<int> LentOutput::numbers_of_fds() const {
  std::vector<int> numbers;
  for (const UniqueFd& fd : fds) numbers.push_back(fd.get());
  return numbers;
}

Json to_json(const LentOutput& lent) {
  Json json = {{"number", lent.number}};
  std::size_t part = 0;
  for (const auto& [name, place] :
       {std::pair{"out", &lent.places.out}, std::pair{"lse", &lent.places.lse},
        std::pair{"snap", &lent.places.snap}}) {
    if (place->size_bytes == 0) continue;
    json[name] = {{"bytes", lent.map_bytes.at(part++)}, {"offset", place->offset}};
  }
  return json;
}

}  // namespace wb::worker
