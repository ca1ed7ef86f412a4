// SPDX-License-Identifier: MIT
#include "device/device.hpp"
#include "core/json.hpp"

#include <array>
#include <limits>
#include <stdexcept>

namespace wb::device {
namespace {

/// The facts of a device with their JSON keys, used in both directions.
struct FactField {
  const char* key;
  std::optional<DeviceFact> Device::*member;
};
constexpr std::array<FactField, 9> k_fact_fields{
    {{"f32_flops_per_s", &Device::f32_flops_per_s},
     {"f16_flops_per_s", &Device::f16_flops_per_s},
     {"bf16_flops_per_s", &Device::bf16_flops_per_s},
     {"memory_bytes_per_s", &Device::memory_bytes_per_s},
     {"l1_bytes", &Device::l1_bytes},
     {"l2_bytes", &Device::l2_bytes},
     {"l3_bytes", &Device::l3_bytes},
     {"shared_bytes_per_unit", &Device::shared_bytes_per_unit},
     {"memory_bytes", &Device::memory_bytes}}};

Result<DeviceFact> fact_from_json(const Json& json, std::string what) {
  ObjectReader reader(json, std::move(what));
  DeviceFact fact{reader.real("value"), reader.string("source")};
  if (!(fact.value > 0)) reader.fail("value", "must be above 0");
  if (fact.source.empty()) reader.fail("source", "must say where the value comes from");
  WB_TRY(reader.finish());
  return fact;
}

}  // namespace

std::optional<DeviceFact> peak_flops_per_s(const Device& device, Dtype dtype) {
  switch (dtype) {
    case Dtype::f32:
      return device.f32_flops_per_s;
    case Dtype::f16:
      return device.f16_flops_per_s;
    case Dtype::bf16:
      return device.bf16_flops_per_s;
  }
  throw std::logic_error("a Dtype outside its enumeration");
}

Json to_json(const Device& device) {
  Json json{{"backend", device.backend},
            {"id", device.id},
            {"name", device.name},
            {"architecture", device.architecture},
            {"units", device.units}};
  for (const FactField& field : k_fact_fields) {
    if (const auto& fact = device.*field.member) {
      json[field.key] = {{"value", fact->value}, {"source", fact->source}};
    }
  }
  return json;
}

Result<Device> device_from_json(const Json& json) {
  ObjectReader reader(json, "a device");
  Device device;
  device.backend = reader.string("backend");
  device.id = reader.string("id");
  device.name = reader.string("name");
  device.architecture = reader.string("architecture");
  device.units = reader.integer("units", 0, std::numeric_limits<std::int32_t>::max());
  std::array<const Json*, k_fact_fields.size()> facts{};
  for (std::size_t i = 0; i < facts.size(); ++i) facts[i] = reader.member(k_fact_fields[i].key);
  WB_TRY(reader.finish());
  for (std::size_t i = 0; i < facts.size(); ++i) {
    if (facts[i] == nullptr) continue;
    WB_TRY_ASSIGN(device.*k_fact_fields[i].member,
                  fact_from_json(*facts[i], std::string("a device, ") + k_fact_fields[i].key));
  }
  return device;
}

}  // namespace wb::device
