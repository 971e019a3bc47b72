// glove_models: one row a loaded model, in the order of loading.
//
//   SELECT name, words, dims, backend, state FROM glove_models;   -- glove | 341479 | 100 | cpu | mapped
//
// `backend` is the one that 'auto' would ask first for this model; device, device_bytes and state are
// that backend's. Looking at this table loads nothing, not even $GLOVE_MODEL.
#include <string>
#include <vector>

#include "search/backend.h"
#include "search/catalog.h"
#include "sql/register.h"
#include "sql/snapshot_table.h"

namespace glove::sql {
namespace {

// The first backend that holds the model, else the first that this machine can use; null if none.
Backend* serving_backend(const Model& model) {
  Backend* usable = nullptr;
  for (const auto& backend : registered_backends()) {
    if (!backend->available().ok()) continue;
    if (backend->residency(model).state != "not loaded") return backend.get();
    if (usable == nullptr) usable = backend.get();
  }
  return usable;
}

SnapshotRow row_of(const Catalog::Entry& entry) {
  const Model& model = *entry.model;
  SnapshotRow row = {entry.name,   int64_t{entry.is_default}, model.path(), model.words(),
                     model.dims(), model.source().file_bytes};
  if (Backend* backend = serving_backend(model); backend != nullptr) {
    const Residency residency = backend->residency(model);
    row.insert(row.end(),
               {std::string(backend->name()), residency.device, residency.device_bytes, residency.state});
  } else {
    row.insert(row.end(), {nullptr, nullptr, nullptr, std::string("no backend available")});
  }
  return row;
}

Result<std::vector<SnapshotRow>> rows() {
  std::vector<SnapshotRow> result;
  for (const Catalog::Entry& entry : Catalog::instance().list()) result.push_back(row_of(entry));
  return result;
}

constexpr SnapshotTable kGloveModels = {
    "glove_models",
    "CREATE TABLE glove_models(name TEXT, is_default INTEGER, path TEXT, words INTEGER, dims INTEGER,"
    " file_bytes INTEGER, backend TEXT, device TEXT, device_bytes INTEGER, state TEXT)",
    rows};

}  // namespace

int register_glove_models(sqlite3* db) {
  // Not INNOCUOUS: it shows paths and devices of the process, so a schema that one does not trust must
  // not read it. Not DIRECTONLY: it opens and changes nothing.
  return register_snapshot_table(db, &kGloveModels);
}

}  // namespace glove::sql
