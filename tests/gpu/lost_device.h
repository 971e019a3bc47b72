// Breaks the calling process's context of a CUDA device for good.
#pragma once

namespace glove::testing {

// Launches a kernel that writes where there is no memory and waits for the error. Every later call on this
// device fails.
void lose_the_device(int number = 0);

}  // namespace glove::testing
