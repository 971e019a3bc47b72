#include "text/tokenizers/post_processor.h"

#include "base/concat.h"

namespace glove::tokenizers {
namespace {

constexpr size_t kMostIds = 65'536;  // around a text; the largest known file has three

}  // namespace

Result<PostProcessor> PostProcessor::read(const JsonField& root) {
  PostProcessor processor;
  const auto read_step = [&](const JsonField& step, const std::string& type) {
    return processor.read_processor(step, type);
  };
  if (const auto field = root.find("post_processor"))
    GLOVE_RETURN_IF_ERROR(field->each_step("processors", read_step));
  if (const auto field = root.find("truncation")) GLOVE_RETURN_IF_ERROR(processor.read_truncation(*field));
  return processor;
}

Status PostProcessor::read_processor(const JsonField& field, const std::string& type) {
  if (type == "ByteLevel") return {};  // changes positions only
  if (type == "BertProcessing" || type == "RobertaProcessing") return read_around(field);
  if (type == "TemplateProcessing") return read_template(field);
  return field.unsupported(
      "has the type " + quoted_value(type) +
      ", which is not supported: BertProcessing, ByteLevel, RobertaProcessing, Sequence and "
      "TemplateProcessing are");
}

// Fails unless the field may put so many more ids around a text. A small file can ask for many: each piece of
// a template repeats the ids of its token, and processors may be nested.
Status PostProcessor::check_room(const JsonField& field, size_t more) const {
  GLOVE_RETURN_IF_ERROR(field.poll().check());
  if (more <= kMostIds - before_.size() - after_.size()) return {};
  return field.unsupported("puts more than " + std::to_string(kMostIds) +
                           " special tokens around each text, which is not supported; use another model");
}

// {"cls": ["[CLS]", 101], "sep": ["[SEP]", 102]}
Status PostProcessor::read_around(const JsonField& field) {
  GLOVE_RETURN_IF_ERROR(check_room(field, 2));
  for (const bool is_first : {true, false}) {
    GLOVE_ASSIGN_OR_RETURN(const JsonField token, field.at(is_first ? "cls" : "sep"));
    const Json* pair = token.value().pair();
    if (pair == nullptr) return token.corrupt("must be an array of a token and its id");
    GLOVE_ASSIGN_OR_RETURN(const uint32_t id, token.member("1", pair[1]).id());
    is_first ? before_.insert(before_.begin(), id) : after_.insert(after_.end(), id);
  }
  return {};
}

// {"single": [{"SpecialToken": {"id": "[CLS]"}}, {"Sequence": {"id": "A"}}], "special_tokens": {"[CLS]":
// {"ids": [101]}}}
Status PostProcessor::read_template(const JsonField& field) {
  GLOVE_ASSIGN_OR_RETURN(const JsonField single, field.at("single"));
  GLOVE_ASSIGN_OR_RETURN(const JsonField special, field.at("special_tokens"));
  std::vector<uint32_t> parts[2];
  bool has_text = false;
  GLOVE_RETURN_IF_ERROR(single.each([&](const JsonField& element) -> Status {
    if (const auto sequence = element.find("Sequence")) {
      GLOVE_ASSIGN_OR_RETURN(const std::string name, sequence->string("id"));
      if (name != "A" || has_text) return sequence->unsupported("must be 'A', once");
      has_text = true;
      return {};
    }
    GLOVE_ASSIGN_OR_RETURN(const JsonField token, element.at("SpecialToken"));
    GLOVE_ASSIGN_OR_RETURN(const std::string name, token.string("id"));
    GLOVE_ASSIGN_OR_RETURN(const JsonField entry, special.at(name.c_str()));
    GLOVE_ASSIGN_OR_RETURN(const JsonField list, entry.at("ids"));
    const auto* ids = list.value().as<JsonArray>();
    if (ids == nullptr) return list.must_be("an array");
    GLOVE_RETURN_IF_ERROR(check_room(list, parts[0].size() + parts[1].size() + ids->size()));
    return list.each([&](const JsonField& one) -> Status {
      GLOVE_ASSIGN_OR_RETURN(const uint32_t id, one.id());
      parts[has_text ? 1 : 0].push_back(id);
      return {};
    });
  }));
  if (!has_text) return single.unsupported("has no 'Sequence', so every text would have the same ids");
  before_.insert(before_.begin(), parts[0].begin(), parts[0].end());
  after_.insert(after_.end(), parts[1].begin(), parts[1].end());
  return {};
}

Status PostProcessor::read_truncation(const JsonField& field) {
  GLOVE_ASSIGN_OR_RETURN(const uint64_t most, field.number("max_length"));
  GLOVE_ASSIGN_OR_RETURN(const uint64_t stride, field.number("stride"));
  GLOVE_ASSIGN_OR_RETURN(const std::string strategy, field.string("strategy"));
  GLOVE_ASSIGN_OR_RETURN(const std::string direction, field.string("direction", "Right"));
  if (strategy != "LongestFirst" && strategy != "OnlyFirst")
    return field.unsupported("has the strategy " + quoted_value(strategy) +
                             ": LongestFirst and OnlyFirst are supported");
  if (direction != "Left" && direction != "Right")
    return field.corrupt("has the direction " + quoted_value(direction) + ": it must be Left or Right");
  const size_t added = before_.size() + after_.size();
  if (most < added || (most > added && stride >= most - added))
    return field.corrupt("has a max_length of " + std::to_string(most) +
                         ", which must be larger than the stride of " + std::to_string(stride) + " and the " +
                         std::to_string(added) + " special tokens together");
  most_ids_ = most;
  drops_left_ = direction == "Left";
  return {};
}

Status PostProcessor::limit(size_t most_ids) {
  const size_t added = before_.size() + after_.size();
  if (most_ids <= added)
    return invalid_argument("the limit of ", most_ids, " tokens leaves no room beside the ", added,
                            " special tokens");
  most_ids_ = most_ids;
  return {};
}

bool PostProcessor::apply(bool add_special_tokens, size_t first, std::vector<uint32_t>& ids) const {
  const auto begin = [&] { return ids.begin() + static_cast<std::ptrdiff_t>(first); };
  bool cut = false;
  if (most_ids_) {
    const size_t most = *most_ids_ - (add_special_tokens ? before_.size() + after_.size() : 0);
    const size_t count = ids.size() - first;
    cut = count > most;
    if (cut) {
      if (drops_left_) ids.erase(begin(), begin() + static_cast<std::ptrdiff_t>(count - most));
      ids.resize(first + most);
    }
  }
  if (!add_special_tokens) return cut;
  ids.insert(begin(), before_.begin(), before_.end());
  ids.insert(ids.end(), after_.begin(), after_.end());
  return cut;
}

}  // namespace glove::tokenizers
