#include "search/catalog.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <iterator>
#include <thread>
#include <utility>

#include "search/engine.h"

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

// Both REQUIRE: mutex_ is held.
const Catalog::Entry* Catalog::lookup(std::optional<std::string_view> name) const {
  for (const Entry& candidate : entries_)
    if (name ? candidate.name == *name : candidate.is_default) return &candidate;
  return nullptr;
}

// What to say about the models there are.
std::string Catalog::choices() const {
  if (entries_.empty())
    return "no model is loaded; load one with SELECT glove_load('FILE') or set GLOVE_MODEL=FILE";
  std::string names;
  for (const Entry& candidate : entries_) names += (names.empty() ? "'" : ", '") + candidate.name + "'";
  return "the loaded models are: " + names;
}

Result<std::string> Catalog::load(const std::string& path, const std::string& name,
                                  const OpenOptions& options) {
  const std::string chosen = name.empty() ? name_of_path(path) : name;
  GLOVE_ASSIGN_OR_RETURN(ModelPtr model, open_model(path, options));
  add(chosen, std::move(model));
  return chosen;
}

void Catalog::add(const std::string& name, ModelPtr model) {
  auto searchers = std::make_shared<ModelSearchers>(engine_, model);
  ModelSearchersPtr replaced;
  {
    const std::lock_guard lock(mutex_);
    const bool becomes_default = entries_.empty() || name == "main";
    auto entry =
        std::find_if(entries_.begin(), entries_.end(), [&](const Entry& e) { return e.name == name; });
    if (entry == entries_.end()) {
      entries_.push_back({name, false, model, searchers});  // may throw, so it comes before any other change
      entry = std::prev(entries_.end());
    } else {
      entry->model = model;
      replaced = std::exchange(entry->searchers, searchers);
    }
    if (becomes_default) {
      for (Entry& other : entries_) other.is_default = false;
      entry->is_default = true;
    }
    ++generation_;
  }
  if (replaced) replaced->retire();
}

Status Catalog::unload(std::string_view name) {
  ModelSearchersPtr dropped;
  {
    const std::lock_guard lock(mutex_);
    const Entry* entry = lookup(name);
    if (!entry)
      return Status(ErrorCode::kNotFound,
                    "there is no model '" + std::string(name) + "' to unload; " + choices());
    dropped = entry->searchers;
    const bool was_default = entry->is_default;
    entries_.erase(entries_.begin() + (entry - entries_.data()));
    if (was_default && !entries_.empty()) entries_.front().is_default = true;
    ++generation_;
  }
  dropped->retire();
  return {};
}

Result<Catalog::Entry> Catalog::find_entry(std::optional<std::string_view> name,
                                           const InterruptCheck& interrupted) {
  for (bool environment_tried = false;;) {
    {
      const std::lock_guard lock(mutex_);
      if (const Entry* const entry = lookup(name)) return *entry;
      if (environment_tried || !entries_.empty())
        return Error{ErrorCode::kNotFound,
                     name ? "there is no model '" + std::string(*name) + "'; " + choices() : choices()};
    }
    GLOVE_RETURN_IF_ERROR(load_from_environment(interrupted));
    environment_tried = true;
  }
}

Result<ModelPtr> Catalog::find(std::optional<std::string_view> name, const InterruptCheck& interrupted) {
  GLOVE_ASSIGN_OR_RETURN(Entry entry, find_entry(name, interrupted));
  GLOVE_RETURN_IF_ERROR(entry.model->health());
  return std::move(entry.model);
}

Status Catalog::load_from_environment(const InterruptCheck& interrupted) {
  constexpr std::chrono::milliseconds kBetweenQuestions(2);
  using Turn = EnvironmentLoad::Turn;
  const char* const value = std::getenv("GLOVE_MODEL");
  if (!value || !*value) return {};
  const std::string path = value;
  Turn turn = environment_.begin();
  for (; turn == Turn::kWait; turn = environment_.begin()) {
    if (interrupted && interrupted())
      return Status(ErrorCode::kInterrupted, "$GLOVE_MODEL: waiting for '" + path + "' was interrupted");
    std::this_thread::sleep_for(kBetweenQuestions);
  }
  if (turn == Turn::kDone) return {};
  if (turn == Turn::kNested)
    return Status(ErrorCode::kUnavailable,
                  "$GLOVE_MODEL: '" + path +
                      "' is being opened by a statement that runs this one; ask again when "
                      "that has ended");
  struct Ending {
    EnvironmentLoad& load;
    bool opened;
    ~Ending() { load.end(opened); }
  } ending{environment_, false};
  OpenOptions options;
  if (interrupted) options.progress = [&](int64_t, int64_t) { return !interrupted(); };
  const Result<std::string> loaded = load(path, "", options);
  ending.opened = loaded.ok();
  if (loaded.ok()) return {};
  return Status(loaded.error().code, "$GLOVE_MODEL: " + loaded.error().message);
}

std::vector<Catalog::Entry> Catalog::list() const {
  const std::lock_guard lock(mutex_);
  return entries_;
}

}  // namespace glove
