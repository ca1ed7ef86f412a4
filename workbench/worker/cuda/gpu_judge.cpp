// SPDX-License-Identifier: MIT
#include "worker/cuda/gpu_judge.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <stdexcept>
#include <utility>
#include <vector>

#include "problem/decision.hpp"
#include "worker/cuda/device_code.hpp"
#include "worker/cuda/gpu_inputs.hpp"
#include "worker/cuda/judge_plan.hpp"

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

using problem::Problem;

namespace {

/// Refuses before anything is reserved, so that the message can say how much would be needed.
CudaResult<void> check_memory(const Context& context, const Problem& problem,
                              std::size_t needed_bytes) {
  WB_TRY_ASSIGN(const DeviceMemory memory, context.memory());
  if (needed_bytes <= memory.free_bytes) return {};
  return Fault{
      {ErrorCode::limit, "judge", problem::label(problem),
       fmt::format("out of device memory: it needs {:.2f} GB, {} has {:.2f} GB free of {:.2f}",
                   static_cast<double>(needed_bytes) * 1e-9, context.name(),
                   static_cast<double>(memory.free_bytes) * 1e-9,
                   static_cast<double>(memory.total_bytes) * 1e-9),
       "choose a smaller problem, or free the device's memory"},
      Status::out_of_memory};
}

/// Loads one of the embedded images; messages name its content.
CudaResult<std::shared_ptr<const Module>> load_image(const ContextPtr& context,
                                                     std::span<const std::byte> image,
                                                     std::string_view name,
                                                     std::string_view about) {
  return Module::load(context, image, fmt::format("the device code of {} ({})", name, about));
}

std::size_t lse_elements(const Problem& problem) {
  return static_cast<std::size_t>(problem.B * problem.Hq * problem.Sq);
}

}  // namespace

CudaResult<GpuJudge> GpuJudge::create(const ContextPtr& context) {
  WB_TRY_ASSIGN(Stream stream, Stream::create(context));
  WB_TRY_ASSIGN(GpuInputs inputs, GpuInputs::create(context));
  WB_TRY_ASSIGN(Kernels kernels, load_kernels(context));
  return GpuJudge(std::move(stream), std::move(inputs), std::move(kernels));
}

CudaResult<GpuJudge::Kernels> GpuJudge::load_kernels(const ContextPtr& context) {
  WB_TRY_ASSIGN(const DeviceCode code, device_code());
  WB_TRY_ASSIGN(const auto oracle, load_image(context, code.oracle, "the oracle", code.about));
  WB_TRY_ASSIGN(const auto standard, load_image(context, code.standard, "std", code.about));
  WB_TRY_ASSIGN(const auto errors, load_image(context, code.errors, "the judge", code.about));
  WB_TRY_ASSIGN(Kernel oracle_scores, oracle->kernel("wb_oracle_scores"));
  WB_TRY_ASSIGN(Kernel oracle_weights, oracle->kernel("wb_oracle_weights"));
  WB_TRY_ASSIGN(Kernel oracle_values, oracle->kernel("wb_oracle_values"));
  WB_TRY_ASSIGN(Kernel std_scores, standard->kernel("wb_std_scores"));
  WB_TRY_ASSIGN(Kernel std_weights, standard->kernel("wb_std_weights"));
  WB_TRY_ASSIGN(Kernel std_values, standard->kernel("wb_std_values"));
  WB_TRY_ASSIGN(Kernel block_errors, errors->kernel("wb_block_errors"));
  WB_TRY_ASSIGN(Kernel scan_output, errors->kernel("wb_scan_output"));
  return Kernels{std::move(oracle_scores), std::move(oracle_weights), std::move(oracle_values),
                 std::move(std_scores),    std::move(std_weights),    std::move(std_values),
                 std::move(block_errors),  std::move(scan_output)};
}

CudaResult<problem::OutputVerdict> GpuJudge::judge(const Problem& problem, std::uint32_t seed,
                                                   problem::Draw draw,
                                                   std::span<const std::byte> out,
                                                   std::span<const float> lse,
                                                   const problem::JudgeOptions& options) const {
  if (out.size() != problem::out_bytes(problem) ||
      (!lse.empty() && lse.size() != lse_elements(problem))) {
    throw std::logic_error("GpuJudge: out or lse has another size than the problem says");
  }
  const std::vector<problem::RowBlock> blocks = gpu_blocks(problem, options);
  WB_TRY(check_memory(*m_stream.context(), problem,
                      judge_device_bytes(problem, blocks.size(), /*out_from_host=*/true)));
  WB_TRY_ASSIGN(const DeviceBuffer copy, DeviceBuffer::allocate(m_stream.context(), out.size()));
  WB_TRY(copy_to_device(m_stream, copy.address(), out));
  const std::span<const float> judged_lse = options.judge_lse ? lse : std::span<const float>();
  return Judgement(*this, problem, options).run(seed, draw, copy.address(), judged_lse, blocks);
}

CudaResult<problem::OutputVerdict> GpuJudge::judge(const Problem& problem, std::uint32_t seed,
                                                   problem::Draw draw, const DeviceOutput& output,
                                                   const problem::JudgeOptions& options) const {
  const std::vector<problem::RowBlock> blocks = gpu_blocks(problem, options);
  WB_TRY(check_memory(*m_stream.context(), problem,
                      judge_device_bytes(problem, blocks.size(), /*out_from_host=*/false)));
  std::vector<float> lse;
  if (output.lse != 0 && options.judge_lse) {
    lse.resize(lse_elements(problem));
    WB_TRY(copy_to_host(m_stream, std::as_writable_bytes(std::span(lse)), output.lse));
  }
  return Judgement(*this, problem, options).run(seed, draw, output.out, lse, blocks);
}

}  // namespace wb::worker::cuda
