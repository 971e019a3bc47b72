// glove_models: one row per loaded model, in the order of loading.
//
//   SELECT name, words, dims, backend, state FROM glove_models;   -- glove | 341479 | 100 | cpu | mapped
//
// `backend` is the one that holds the model or, if none does, the one that 'auto' would use; device,
// device_bytes and state refer to that backend. `passed_over` says why 'auto' cannot use the backends before
// it, and `notes` what is odd about the rows of its file. Reading this table loads nothing.
#include <optional>
#include <string>

#include "search/engine.h"
#include "search/searcher_choice.h"
#include "sql/adapter/snapshot.h"
#include "sql/register.h"
#include "text/text_encoder.h"

namespace glove::sql {
namespace {

vtab::SnapshotRow row_of(const CatalogEntry& entry) {
  const Model& model = *entry.model;
  vtab::SnapshotRow row;
  vtab::append(row, entry.name, int64_t{entry.is_default}, model.path(), model.words(), model.dims(),
               model.source().file_bytes);
  const LikelyBackend choice = likely_backend(entry.searchers->engine(), entry.searchers.get());
  if (choice.backend != nullptr) {
    const Status health = model.health();  // no backend can use a file that was overwritten
    vtab::append(row, std::string(choice.backend->name()), choice.info.device, choice.info.device_bytes,
                 health.ok() ? choice.info.state : "failed: " + health.error().message);
  } else {
    vtab::append(row, nullptr, nullptr, nullptr, std::string("no backend available"));
  }
  for (const std::string& text : {choice.passed_over, model.source().notes})
    row.push_back(text.empty() ? vtab::SnapshotValue() : vtab::SnapshotValue(text));
  const auto& encoder = model.source().encoder;
  const auto metric = encoder == nullptr ? std::optional(model.metric()) : encoder->metric();
  row.push_back(metric ? vtab::SnapshotValue(std::string(metric_name(*metric))) : vtab::SnapshotValue());
  return row;
}

struct GloveModels {
  static constexpr const char* kName = "glove_models";
  static constexpr const char* kSchema =
      "CREATE TABLE glove_models(name TEXT, is_default INTEGER, path TEXT, words INTEGER, dims INTEGER,"
      " file_bytes INTEGER, backend TEXT, device TEXT, device_bytes INTEGER, state TEXT,"
      " passed_over TEXT, notes TEXT, metric TEXT)";

  static Result<std::vector<vtab::SnapshotRow>> rows(Connection& connection) {
    std::vector<vtab::SnapshotRow> result;
    for (const CatalogEntry& entry : connection.engine().catalog().list()) result.push_back(row_of(entry));
    return result;
  }
};

}  // namespace

// Not INNOCUOUS, because an untrusted schema must not see paths and devices. Not DIRECTONLY, because it
// changes nothing.
constexpr SqlObject kGloveModels = vtab::table_object<vtab::Snapshot<GloveModels>>();

}  // namespace glove::sql
