// glove_models: one row a loaded model, in the order of loading.
//
//   SELECT name, words, dims, backend, state FROM glove_models;   -- glove | 341479 | 100 | cpu | mapped
//
// `backend` is the one that 'auto' would ask first for this model; device, device_bytes and state are
// that backend's; passed_over says why the backends before it do not serve. Looking at this table loads
// nothing, not even $GLOVE_MODEL.
#include <optional>
#include <string>
#include <vector>

#include "search/engine.h"
#include "sql/register.h"
#include "sql/snapshot_table.h"

namespace glove::sql {
namespace {

// The backend that answers under 'auto', and why each one before it does not.
struct Choice {
  Backend* backend = nullptr;
  std::string passed_over;  // "cuda: <reason>", several with "; " between; empty if none
};

// Of the backends that can serve, the first that holds the model, else the first.
Choice choose_backend(ModelSearchers& searchers) {
  const Model& model = *searchers.model();
  Choice choice;
  for (const auto& backend : searchers.engine().backends().all()) {
    std::optional<std::string> reason = searchers.remembered_failure(backend->name());
    if (const Status available = backend->available(); !reason && !available.ok())
      reason = available.error().message;
    if (reason) {
      choice.passed_over +=
          (choice.passed_over.empty() ? "" : "; ") + std::string(backend->name()) + ": " + *reason;
      continue;
    }
    const bool holds = backend->residency(model).state != "not loaded";
    if (choice.backend == nullptr || holds) choice.backend = backend.get();
    if (holds) break;
  }
  return choice;
}

SnapshotRow row_of(const Catalog::Entry& entry) {
  const Model& model = *entry.model;
  SnapshotRow row = {entry.name,   int64_t{entry.is_default}, model.path(), model.words(),
                     model.dims(), model.source().file_bytes};
  const Choice choice = choose_backend(*entry.searchers);
  if (choice.backend != nullptr) {
    const Residency residency = choice.backend->residency(model);
    const Status health = model.health();  // no backend serves a file that was written to
    row.insert(row.end(), {std::string(choice.backend->name()), residency.device, residency.device_bytes,
                           health.ok() ? residency.state : "failed: " + health.error().message});
  } else {
    row.insert(row.end(), {nullptr, nullptr, nullptr, std::string("no backend available")});
  }
  row.push_back(choice.passed_over.empty() ? SnapshotValue(nullptr) : SnapshotValue(choice.passed_over));
  return row;
}

Result<std::vector<SnapshotRow>> rows(Engine& engine) {
  std::vector<SnapshotRow> result;
  for (const Catalog::Entry& entry : engine.catalog().list()) result.push_back(row_of(entry));
  return result;
}

constexpr SnapshotTable kGloveModels = {
    "glove_models",
    "CREATE TABLE glove_models(name TEXT, is_default INTEGER, path TEXT, words INTEGER, dims INTEGER,"
    " file_bytes INTEGER, backend TEXT, device TEXT, device_bytes INTEGER, state TEXT,"
    " passed_over TEXT)",
    rows};

}  // namespace

int register_glove_models(sqlite3* db, Engine& engine) {
  // Not INNOCUOUS: it shows paths and devices of the process, so a schema that one does not trust must
  // not read it. Not DIRECTONLY: it opens and changes nothing.
  return register_snapshot_table(db, engine, kGloveModels);
}

}  // namespace glove::sql
