// tokenize TOKENIZER.JSON < TEXTS > IDS: for compare.mjs. Each text and each list of ids has its length
// before it, as a 32-bit number. With a third argument, encodes the texts that many times and prints the
// processor time on standard error.
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

#include "text/tokenizers/tokenizer.h"

namespace {

template <class T>
void write_number(T value) {
  std::cout.write(reinterpret_cast<const char*>(&value), sizeof value);
}

std::vector<std::string> read_texts() {
  std::vector<std::string> texts;
  for (uint32_t length = 0; std::cin.read(reinterpret_cast<char*>(&length), sizeof length);) {
    std::string& text = texts.emplace_back(length, '\0');
    std::cin.read(text.data(), length);
  }
  return texts;
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 2) return 2;
  std::ifstream stream(arguments[1], std::ios::binary);
  const std::string json((std::istreambuf_iterator<char>(stream)), std::istreambuf_iterator<char>());
  const auto parsed = glove::Tokenizer::parse(json, arguments[1]);
  if (!parsed.ok()) {
    std::cerr << parsed.error().message << "\n";
    return 1;
  }
  const std::vector<std::string> texts = read_texts();
  glove::Tokenizer::Scratch scratch;
  std::vector<uint32_t> ids;
  for (const std::string& text : texts) {
    ids.clear();
    const glove::Status status = parsed.value()->encode(text, true, scratch, {}, ids);
    if (!status.ok()) std::cerr << status.error().message << "\n";
    write_number(status.ok() ? static_cast<uint32_t>(ids.size()) : UINT32_MAX);
    if (!status.ok()) continue;
    for (const uint32_t id : ids) write_number(id);
  }
  const int rounds = count > 2 ? std::atoi(arguments[2]) : 0;
  const std::clock_t begin = std::clock();
  for (int round = 0; round < rounds; ++round) {
    for (const std::string& text : texts) {
      ids.clear();
      if (!parsed.value()->encode(text, false, scratch, {}, ids).ok()) return 1;
    }
  }
  const double time = 1e6 * static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  if (rounds > 0) std::cerr << time / rounds / static_cast<double>(texts.size()) << " us per text\n";
  return 0;
}
