#include "search/catalog.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <iterator>
#include <mutex>
#include <utility>

#include "search/backend_choice.h"

namespace glove {
namespace {

bool is_letters(std::string_view text) {
  for (const char c : text)
    if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'))) return false;
  return !text.empty();
}

// "data/glove.6B.100d.txt.gz" -> "glove.6B.100d": no directories, no .gz, no extension of letters.
std::string name_of_path(std::string_view path) {
  while (path.size() > 1 && path.back() == '/') path.remove_suffix(1);
  std::string_view name = path.substr(path.rfind('/') + 1);  // npos + 1 == 0
  if (name.size() > 3 && name.ends_with(".gz")) name.remove_suffix(3);
  const size_t dot = name.rfind('.');
  if (dot != std::string_view::npos && dot > 0 && is_letters(name.substr(dot + 1)))
    name = name.substr(0, dot);
  return std::string(name);
}

}  // namespace

struct Catalog::State {
  mutable std::mutex mutex;    // guards the members below; never held while a file is opened
  std::vector<Entry> entries;  // in the order of loading; at most one is the default
  std::atomic<uint64_t> generation = 1;

  std::mutex environment_mutex;  // held while $GLOVE_MODEL is opened; taken before `mutex`
  std::atomic<bool> environment_done = false;

  const Entry* entry(std::optional<std::string_view> name) const {
    for (const Entry& candidate : entries)
      if (name ? candidate.name == *name : candidate.is_default) return &candidate;
    return nullptr;
  }

  // What to say about the models there are.
  std::string choices() const {
    if (entries.empty())
      return "no model is loaded; load one with SELECT glove_load('FILE') or set GLOVE_MODEL=FILE";
    std::string names;
    for (const Entry& candidate : entries) names += (names.empty() ? "'" : ", '") + candidate.name + "'";
    return "the loaded models are: " + names;
  }
};

Catalog::Catalog() : state_(new State) {}

Catalog& Catalog::instance() {
  static Catalog catalog;
  return catalog;
}

Result<std::string> Catalog::load(const std::string& path, const std::string& name,
                                  const OpenOptions& options) {
  const std::string chosen = name.empty() ? name_of_path(path) : name;
  GLOVE_ASSIGN_OR_RETURN(ModelPtr model, open_model(path, options));
  add(chosen, std::move(model));
  return chosen;
}

void Catalog::add(const std::string& name, ModelPtr model) {
  ModelPtr replaced;
  {
    const std::lock_guard lock(state_->mutex);
    auto& entries = state_->entries;
    const bool becomes_default = entries.empty() || name == "main";
    auto entry = std::find_if(entries.begin(), entries.end(), [&](const Entry& e) { return e.name == name; });
    if (entry == entries.end()) {
      entries.push_back({name, false, model});  // may throw, so it comes before any other change
      entry = std::prev(entries.end());
    } else {
      replaced = std::exchange(entry->model, model);
    }
    if (becomes_default) {
      for (Entry& other : entries) other.is_default = false;
      entry->is_default = true;
    }
    ++state_->generation;
  }
  if (replaced) retire_model(*replaced);
}

Status Catalog::unload(std::string_view name) {
  ModelPtr dropped;
  {
    const std::lock_guard lock(state_->mutex);
    const Entry* entry = state_->entry(name);
    if (!entry)
      return Status(ErrorCode::kNotFound,
                    "there is no model '" + std::string(name) + "' to unload; " + state_->choices());
    dropped = entry->model;
    const bool was_default = entry->is_default;
    state_->entries.erase(state_->entries.begin() + (entry - state_->entries.data()));
    if (was_default && !state_->entries.empty()) state_->entries.front().is_default = true;
    ++state_->generation;
  }
  retire_model(*dropped);
  return {};
}

Result<Catalog::Entry> Catalog::find_entry(std::optional<std::string_view> name) {
  for (bool environment_tried = state_->environment_done.load();;) {
    {
      const std::lock_guard lock(state_->mutex);
      if (const Entry* const entry = state_->entry(name)) return *entry;
      if (environment_tried || !state_->entries.empty())
        return Error{ErrorCode::kNotFound,
                     name ? "there is no model '" + std::string(*name) + "'; " + state_->choices()
                          : state_->choices()};
    }
    GLOVE_RETURN_IF_ERROR(load_from_environment());
    environment_tried = true;
  }
}

Result<ModelPtr> Catalog::find(std::optional<std::string_view> name) {
  GLOVE_ASSIGN_OR_RETURN(Entry entry, find_entry(name));
  GLOVE_RETURN_IF_ERROR(entry.model->health());
  return std::move(entry.model);
}

Status Catalog::load_from_environment() {
  const std::lock_guard lock(state_->environment_mutex);
  if (state_->environment_done) return {};
  const char* path = std::getenv("GLOVE_MODEL");
  if (!path || !*path) return {};
  if (Result<std::string> loaded = load(path, "", {}); !loaded.ok())
    return Status(loaded.error().code, "$GLOVE_MODEL: " + loaded.error().message);
  state_->environment_done = true;
  return {};
}

std::vector<Catalog::Entry> Catalog::list() const {
  const std::lock_guard lock(state_->mutex);
  return state_->entries;
}

uint64_t Catalog::generation() const {
  return state_->generation.load();
}

}  // namespace glove
