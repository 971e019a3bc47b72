#include "search/catalog.h"

#include <algorithm>

#include "base/concat.h"
#include "base/file.h"
#include "base/file_calls.h"
#include "base/scope_exit.h"
#include "loader/byte_stream.h"
#include "loader/shard.h"
#include "search/engine.h"

namespace glove {
namespace {

bool is_letters(std::string_view text) {
  for (const char c : text)
    if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'))) return false;
  return !text.empty();
}

// "data/glove.6B.100d.txt.gz" -> "glove.6B.100d": without directories, .gz, .bz2, .xz or .zst, and an
// alphabetic extension, or without the extension of an index of shards.
std::string name_of_path(std::string_view path) {
  while (path.size() > 1 && file_name_at(path) == path.size()) path.remove_suffix(1);
  std::string_view name = without_compression(path.substr(file_name_at(path)));
  if (name.size() > kShardIndexExtension.size() && name.ends_with(kShardIndexExtension))
    return std::string(name.substr(0, name.size() - kShardIndexExtension.size()));
  const size_t dot = name.rfind('.');
  if (dot != std::string_view::npos && dot > 0 && is_letters(name.substr(dot + 1)))
    name = name.substr(0, dot);
  return std::string(name);
}

}  // namespace

const CatalogEntry* CatalogSnapshot::find(std::optional<std::string_view> name) const {
  for (const CatalogEntry& entry : entries_)
    if (name ? entry.name == *name : entry.is_default) return &entry;
  return nullptr;
}

std::string CatalogSnapshot::choices() const {
  if (entries_.empty())
    return "no model is loaded; load one with SELECT glove_load('FILE') or set GLOVE_MODEL=FILE";
  std::string names;
  for (const CatalogEntry& entry : entries_) names += (names.empty() ? "" : ", ") + quoted_value(entry.name);
  return "the loaded models are: " + names;
}

Error CatalogSnapshot::missing(std::optional<std::string_view> name) const {
  return {ErrorCode::kNotFound,
          name ? "there is no model " + quoted_value(*name) + "; " + choices() : choices()};
}

bool CatalogSnapshot::has_model(uint64_t model_id) const {
  return std::ranges::any_of(entries_,
                             [&](const CatalogEntry& entry) { return entry.model->id() == model_id; });
}

CatalogSnapshotPtr CatalogSnapshot::with(const std::string& name, ModelSearchersPtr searchers,
                                         uint64_t generation) const {
  auto changed = std::make_shared<CatalogSnapshot>(entries_, generation);
  std::vector<CatalogEntry>& entries = changed->entries_;
  auto entry = std::ranges::find_if(entries, [&](const CatalogEntry& e) { return e.name == name; });
  const bool becomes_default = entries.empty() || name == "main";
  if (entry == entries.end()) entry = entries.insert(entry, {name, false, nullptr, nullptr});
  entry->model = searchers->model();
  entry->searchers = std::move(searchers);
  if (becomes_default)
    for (CatalogEntry& each : entries) each.is_default = &each == &*entry;
  return changed;
}

CatalogSnapshotPtr CatalogSnapshot::without(std::string_view name, uint64_t generation) const {
  auto changed = std::make_shared<CatalogSnapshot>(entries_, generation);
  std::vector<CatalogEntry>& entries = changed->entries_;
  std::erase_if(entries, [&](const CatalogEntry& entry) { return entry.name == name; });
  if (!entries.empty() && changed->find({}) == nullptr) entries.front().is_default = true;
  return changed;
}

Catalog::Catalog(Engine& engine)
    : engine_(engine),
      current_(std::make_shared<CatalogSnapshot>(std::vector<CatalogEntry>(), generation())) {}

CatalogSnapshotPtr Catalog::snapshot() const {
  const Lock lock(mutex_);
  return current_;
}

Result<CatalogEntry> Catalog::load(const std::string& path, const std::string& name,
                                   const OpenOptions& options) {
  const std::string chosen = name.empty() ? name_of_path(path) : name;
  OpenOptions open = options;
  open.read.read_tokenizer = read_tokenizer_;
  ModelPtr model;
  if (read_folder_) {
    GLOVE_ASSIGN_OR_RETURN(model, read_folder_(path, open));
  }
  using Given = std::pair<const char*, bool>;
  for (const auto& [option, is_given] :
       {Given("format", !open.read.format.empty()), Given("tensor", !open.read.tensor.empty()),
        Given("vocabulary", !open.read.words_path.empty()), Given("frequencies", !open.counts_path.empty()),
        Given("verify", open.verify), Given("top", open.top > 0),
        Given("encoding", !open.read.encoding.empty()), Given("invalid", open.read.skip_invalid),
        Given("invalid_utf8", open.read.invalid_utf8 != InvalidUtf8::kReplace)})
    if (model != nullptr && is_given)
      return invalid_argument(
          path, ": the option \"", option,
          "\" is for files of vectors, and this is the folder of a neural model; leave it out");
  if (model == nullptr && open.any())
    return invalid_argument(path,
                            ": the options \"file\", \"prompt\", \"query_prompt\", \"document_prompt\", "
                            "\"dims\" and \"old\" are for the folder of a neural model, and this is none");
  if (model == nullptr) {
    GLOVE_ASSIGN_OR_RETURN(model, open_model(path, open));
  }
  return add(chosen, std::move(model));
}

CatalogEntry Catalog::add(const std::string& name, ModelPtr model) {
  auto searchers = std::make_shared<ModelSearchers>(engine_, std::move(model));
  CatalogSnapshotPtr before;  // freed after the lock is released, with everything that only it holds
  const Lock lock(mutex_);
  before = current_;
  current_ = before->with(name, std::move(searchers), before->generation() + 1);
  generation_.store(current_->generation(), std::memory_order_release);
  return *current_->find(name);
}

Status Catalog::unload(std::string_view name) {
  CatalogSnapshotPtr before;  // freed after the lock is released, with everything that only it holds
  const Lock lock(mutex_);
  if (current_->find(name) == nullptr)
    return Status(ErrorCode::kNotFound,
                  "there is no model " + quoted_value(name) + " to unload; " + current_->choices());
  before = current_;
  current_ = before->without(name, before->generation() + 1);
  generation_.store(current_->generation(), std::memory_order_release);
  return {};
}

Result<CatalogEntry> Catalog::find_entry(std::optional<std::string_view> name,
                                         const InterruptCheck& interrupted) {
  CatalogSnapshotPtr models = snapshot();
  if (models->entries().empty()) {
    GLOVE_RETURN_IF_ERROR(load_from_environment(interrupted));
    models = snapshot();
  }
  if (const CatalogEntry* const entry = models->find(name)) return *entry;
  return models->missing(name);
}

Result<ModelPtr> Catalog::find(std::optional<std::string_view> name, const InterruptCheck& interrupted) {
  GLOVE_ASSIGN_OR_RETURN(CatalogEntry entry, find_entry(name, interrupted));
  GLOVE_RETURN_IF_ERROR(entry.model->health(interrupted));
  return std::move(entry.model);
}

Status Catalog::load_from_environment(const InterruptCheck& interrupted) {
  const std::string path = system_calls::environment("GLOVE_MODEL").value_or("");
  if (path.empty() || environment_is_open_) return {};
  GLOVE_RETURN_IF_ERROR(environment_.enter(
      interrupted,
      make_error(ErrorCode::kUnavailable, "$GLOVE_MODEL: '", path,
                 "' is being opened by a statement that runs this one; ask again when that has ended")));
  const ScopeExit leaving([this] { environment_.leave(); });
  if (environment_is_open_) return {};
  OpenOptions options;
  options.interrupted = interrupted;
  const Result<CatalogEntry> loaded = load(path, "", options);
  environment_is_open_ = loaded.ok();
  if (loaded.ok()) return {};
  if (loaded.error().code == ErrorCode::kInterrupted) return loaded.error();
  return Status(loaded.error().code, "$GLOVE_MODEL: " + loaded.error().message);
}

}  // namespace glove
