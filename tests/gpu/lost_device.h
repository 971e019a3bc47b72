// Breaks the calling process's CUDA context for good.
#pragma once

namespace glove::testing {

// Launches a kernel that writes where there is no memory and waits for the error. Every later call fails.
void lose_the_device();

}  // namespace glove::testing
