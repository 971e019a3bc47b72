// An engine of its own for each test.
#pragma once

#include <memory>

#include "cpu/cpu_backend.h"
#include "search/engine.h"
#include "tests/search/fake_backend.h"

namespace glove::testing {

// Its backends are: scripted, cpu, plain, ranking.
struct TestEngine {
  TestEngine() {
    CpuBackendOptions options;
    options.settings = &engine.settings();
    engine.backends().add(std::make_unique<ScriptedBackend>(script));
    engine.backends().add(make_cpu_backend(options));
    engine.backends().add(std::make_unique<PlainBackend>());
    engine.backends().add(std::make_unique<RankingBackend>());
  }

  // For a model that the catalogue does not hold.
  ModelSearchersPtr searchers(const ModelPtr& model) {
    return std::make_shared<ModelSearchers>(engine, model);
  }

  Script script;
  Engine engine;
};

}  // namespace glove::testing
