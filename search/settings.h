// Process-wide settings: what glove_config reads and sets, with their environment defaults.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace glove {

// key           environment     values
// backend       GLOVE_BACKEND   auto (default), or a registered backend's name
// threads       GLOVE_THREADS   0 (default: the cores this process may use) .. 1024
// gpu_memory    GLOVE_GPU_MEMORY  bytes, or with K, M, G; 0 (default) = what the device has free
// get gives the canonical spelling (gpu_memory: bytes). A bad value in the environment is an error at every
// use until a set replaces it, and names the variable; a good one is read once. Thread-safe. The table above
// is one table in settings.cpp; a new setting is a new row.
Result<std::string> get_setting(std::string_view key);
Status set_setting(std::string_view key,
                   std::string_view value);  // unknown key or value: an error that lists what there is
std::vector<std::string> setting_keys();

// Rises with every set_setting: what was decided by the old values is stale.
uint64_t settings_generation();

}  // namespace glove
