// SPDX-License-Identifier: MIT
#include "worker/cuda/judgement.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "worker/cuda/device_words.hpp"

namespace wb::worker::cuda {

using problem::OutputScan;
using problem::RowBlock;
using problem::StdForm;
using problem::Tensor;

namespace {

constexpr std::int64_t k_max_scan_blocks = 1'024;
constexpr std::array<StdForm, 3> k_all_forms{StdForm::pinned, StdForm::short_blocks,
                                             StdForm::normalized};

std::int64_t tiles(std::int64_t count) {
  return (count + device::k_tile - 1) / device::k_tile;
}

template <typename T>
CudaResult<std::vector<T>> from_device(const Stream& stream, const DeviceBuffer& buffer,
                                       std::int64_t begin, std::int64_t count) {
  std::vector<T> values(static_cast<std::size_t>(count));
  const auto offset = static_cast<DeviceAddress>(begin) * sizeof(T);
  WB_TRY(
      copy_to_host(stream, std::as_writable_bytes(std::span(values)), buffer.address() + offset));
  return values;
}

problem::ErrorStatistics statistics_of(const device::ErrorSums& sums) {
  return {sums.max, sums.mean, sums.worst_index, sums.max_magnitude, sums.mean_magnitude};
}

}  // namespace

CudaResult<problem::OutputVerdict> Judgement::run(std::uint32_t seed, problem::Draw draw,
                                                  DeviceAddress out, std::span<const float> lse,
                                                  const std::vector<RowBlock>& blocks) {
  WB_TRY_ASSIGN(const DeviceInputs inputs,
                m_judge.m_inputs.make(m_judge.m_stream, m_problem, seed, draw));
  WB_TRY_ASSIGN(const OutputScan counts, scan(out, lse));
  WB_TRY_ASSIGN(Room room, make_room(inputs, out, blocks.size()));

  // A wave has blocks of one kind, since small ones need more forms of std. The uses keep the order
  // of `blocks`, which decides ties.
  std::array<std::vector<std::size_t>, 2> places;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    places[problem::is_small_block(m_problem, blocks[i]) ? 1 : 0].push_back(i);
  }
  std::vector<problem::BudgetUse> uses(blocks.size());
  for (std::size_t kind = 0; kind < places.size(); ++kind) {
    const auto forms = std::span(k_all_forms).first(kind == 0 ? 1 : k_all_forms.size());
    for (std::size_t begin = 0; begin < places[kind].size(); begin += room.sizes.blocks) {
      const auto wave = std::span(places[kind]).subspan(begin);
      const auto members = wave.first(std::min(wave.size(), room.sizes.blocks));
      std::vector<RowBlock> of_wave;
      for (const std::size_t place : members) of_wave.push_back(blocks[place]);
      WB_TRY_ASSIGN(const WaveResult result, compute(room, of_wave, forms));
      for (std::size_t i = 0; i < members.size(); ++i) {
        uses[members[i]] = decide(of_wave[i], draw, result, i, lse);
      }
    }
  }
  return problem::conclude(m_problem, uses, counts);
}

CudaResult<OutputScan> Judgement::scan(DeviceAddress out, std::span<const float> lse) const {
  const Stream& stream = m_judge.m_stream;
  std::array<std::uint64_t, 2> counts{};
  WB_TRY_ASSIGN(const DeviceBuffer device_counts,
                DeviceBuffer::allocate(stream.context(), sizeof counts));
  WB_TRY(fill_bytes(stream, device_counts.address(), std::byte{0}, sizeof counts));
  device::ScanParams p{};
  p.bytes = reinterpret_cast<const void*>(out);  // NOLINT(performance-no-int-to-ptr)
  p.elements = problem::out_element_count(m_problem);
  p.counts = device_counts.as<std::uint64_t>();
  p.poison_seed = m_options.poison ? m_options.poison->seed : 0;
  p.has_poison = m_options.poison ? 1 : 0;
  p.number = device_word(m_problem.dtype);
  const std::int64_t needed = (p.elements + device::k_scan_threads - 1) / device::k_scan_threads;
  WB_TRY(m_judge.m_kernels.scan_output.launch(
      stream, {.x = std::min(needed, k_max_scan_blocks), .threads = device::k_scan_threads}, p));
  WB_TRY(copy_to_host(stream, std::as_writable_bytes(std::span(counts)), device_counts.address()));
  OutputScan result{
      .non_finite = static_cast<std::int64_t>(counts[0]) + problem::count_bad_lse(lse),
      .unwritten = static_cast<std::int64_t>(counts[1])};
  if (m_options.lse_poison) {
    result.unwritten += m_options.lse_poison->survivors(std::as_bytes(lse), sizeof(float));
  }
  return result;
}

CudaResult<Judgement::Room> Judgement::make_room(const DeviceInputs& inputs, DeviceAddress out,
                                                 std::size_t block_count) const {
  const ContextPtr& context = m_judge.m_stream.context();
  Room room;
  room.sizes = wave_room(m_problem, block_count);
  const WaveRoom& sizes = room.sizes;
  for (const auto& [buffer, bytes] :
       {std::pair{&room.scores, sizes.scores}, std::pair{&room.rescale, sizes.rescale},
        std::pair{&room.ref, sizes.ref}, std::pair{&room.row_figures, sizes.row_figures},
        std::pair{&room.std_out, sizes.std_out}, std::pair{&room.std_sum, sizes.std_sum},
        std::pair{&room.errors, sizes.errors}, std::pair{&room.tasks, sizes.tasks}}) {
    WB_TRY_ASSIGN(*buffer, DeviceBuffer::allocate(context, bytes));
  }
  const problem::Problem& p = m_problem;
  device::Wave& w = room.wave;
  w.tasks = room.tasks.as<const device::BlockTask>();
  w.Hq = p.Hq, w.Hkv = p.Hkv, w.Sq = p.Sq, w.Skv = p.Skv, w.D = p.D, w.Dv = p.Dv;
  w.q_strides = device_word(problem::tensor_strides(p, Tensor::q));
  w.k_strides = device_word(problem::tensor_strides(p, Tensor::k));
  w.v_strides = device_word(problem::tensor_strides(p, Tensor::v));
  w.out_strides = device_word(problem::out_strides(p));
  w.q = inputs.q.as<const void>();
  w.k = inputs.k.as<const void>();
  w.v = inputs.v.as<const void>();
  w.mask = inputs.mask.as<const void>();
  w.out = reinterpret_cast<const void*>(out);  // NOLINT(performance-no-int-to-ptr)
  w.scale = problem::effective_scale(p);
  w.number = device_word(p.dtype);
  w.mask_form = device_word(p.mask);
  w.causal = device_word(p.causal);
  w.form = device::Form::oracle;
  w.rows_per_block = std::min(p.Sq, problem::k_rows_per_block);
  w.pitch = tiles(p.Skv) * device::k_tile;
  w.scores = room.scores.as<void>();
  w.rescale = room.rescale.as<float>();
  w.ref = room.ref.as<double>();
  const std::int64_t rows = static_cast<std::int64_t>(sizes.blocks) * w.rows_per_block;
  w.lse = room.row_figures.as<double>();
  w.norm = w.lse + rows;
  w.ref_sum = w.lse + 2 * rows;
  w.std_out = room.std_out.as<float>();
  w.std_sum = room.std_sum.as<float>();
  w.errors = room.errors.as<device::ErrorSums>();
  return room;
}

CudaResult<Judgement::WaveResult> Judgement::compute(Room& room, std::span<const RowBlock> blocks,
                                                     std::span<const StdForm> forms) const {
  const Stream& stream = m_judge.m_stream;
  std::vector<device::BlockTask> tasks;
  std::int64_t most_keys = 0;
  for (const RowBlock& block : blocks) {
    const std::int64_t keys = problem::visible_keys(m_problem, block.row_end - 1);
    tasks.push_back({block.b, block.h, block.row_begin, keys,
                     static_cast<std::int32_t>(block.row_end - block.row_begin), 0});
    most_keys = std::max(most_keys, keys);
  }
  WB_TRY(copy_to_device(stream, room.tasks.address(), std::as_bytes(std::span(tasks))));

  const auto count = static_cast<std::int64_t>(blocks.size());
  const std::int64_t key_tiles = std::max<std::int64_t>(1, tiles(most_keys));
  WaveResult result;
  WB_TRY_ASSIGN(result.out, compute_form(room, device::Form::oracle, count, key_tiles));
  for (const StdForm form : forms) {
    WB_TRY_ASSIGN(auto errors, compute_form(room, device_word(form), count, key_tiles));
    result.of_std.push_back(std::move(errors));
  }
  const std::int64_t rows = count * room.wave.rows_per_block;
  const std::int64_t all_rows =
      static_cast<std::int64_t>(room.sizes.blocks) * room.wave.rows_per_block;
  WB_TRY_ASSIGN(result.lse, from_device<double>(stream, room.row_figures, 0, rows));
  WB_TRY_ASSIGN(result.norm, from_device<double>(stream, room.row_figures, all_rows, rows));
  return result;
}

CudaResult<std::vector<device::ErrorSums>> Judgement::compute_form(const Room& room,
                                                                   device::Form form,
                                                                   std::int64_t blocks,
                                                                   std::int64_t key_tiles) const {
  const GpuJudge::Kernels& k = m_judge.m_kernels;
  const Stream& stream = m_judge.m_stream;
  const bool is_oracle = form == device::Form::oracle;
  device::Wave wave = room.wave;
  wave.form = form;
  constexpr std::int64_t k_rows_at_once = device::k_weights_threads / 32;  // one warp a row
  const std::int64_t row_groups = (wave.rows_per_block + k_rows_at_once - 1) / k_rows_at_once;
  WB_TRY((is_oracle ? k.oracle_scores : k.std_scores)
             .launch(stream, {key_tiles, blocks, device::k_tile_threads}, wave));
  WB_TRY((is_oracle ? k.oracle_weights : k.std_weights)
             .launch(stream, {row_groups, blocks, device::k_weights_threads}, wave));
  WB_TRY((is_oracle ? k.oracle_values : k.std_values)
             .launch(stream, {tiles(wave.Dv), blocks, device::k_tile_threads}, wave));
  WB_TRY(k.block_errors.launch(stream, {blocks, 1, device::k_scan_threads}, wave));
  return from_device<device::ErrorSums>(stream, room.errors, 0, blocks);
}

problem::BudgetUse Judgement::decide(const RowBlock& block, problem::Draw draw,
                                     const WaveResult& result, std::size_t at,
                                     std::span<const float> lse) const {
  const auto rows = static_cast<std::size_t>(block.row_end - block.row_begin);
  const auto rows_per_block =
      static_cast<std::size_t>(std::min(m_problem.Sq, problem::k_rows_per_block));
  problem::BlockStatistics statistics;
  statistics.out = statistics_of(result.out[at]);
  statistics.got = result.out[at].got;
  statistics.want = result.out[at].want;
  statistics.max_ref = result.out[at].max_ref;
  statistics.mean_ref = result.out[at].mean_ref;
  statistics.of_std = statistics_of(result.of_std.front()[at]);
  for (const auto& form : std::span(result.of_std).subspan(1)) {
    problem::take_larger(statistics.of_std, statistics_of(form[at]));
  }
  statistics.score_deviation = problem::score_deviation(m_problem, draw);
  statistics.score_terms = problem::score_terms(draw);
  statistics.ref_lse = std::span(result.lse).subspan(at * rows_per_block, rows);
  statistics.weight_norm = std::span(result.norm).subspan(at * rows_per_block, rows);
  if (!lse.empty()) {
    const std::int64_t first = (block.b * m_problem.Hq + block.h) * m_problem.Sq + block.row_begin;
    statistics.got_lse = lse.subspan(static_cast<std::size_t>(first), rows);
  }
  return problem::judge_statistics(m_problem, block, statistics);
}

}  // namespace wb::worker::cuda
