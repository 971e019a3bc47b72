// What a library that was configured with GLOVE_TOKENIZERS=OFF says of a model with a tokenizer.
#include <gtest/gtest.h>

#include <utility>

#include "text/static_encoder.h"

namespace {

TEST(AbsentTokenizers, TheErrorNamesTheFileAndTheOption) {
  const auto content = glove::read_tokenizer("potion/tokenizer.json", R"({"model": {}})", {});
  ASSERT_FALSE(content.ok());
  EXPECT_EQ(content.error().code, glove::ErrorCode::kInvalidArgument);
  EXPECT_EQ(content.error().message,
            "potion/tokenizer.json: this build of sqlite-glove cannot encode texts by a tokenizer; use one "
            "that was configured with "
            "-DGLOVE_TOKENIZERS=ON");
}

TEST(AbsentTokenizers, ScratchNeedsNone) {
  glove::TextEncoder::Scratch scratch;
  const glove::TextEncoder::Scratch other = std::move(scratch);
  EXPECT_TRUE(other.ids.empty());
}

}  // namespace
