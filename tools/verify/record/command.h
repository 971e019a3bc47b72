// `glove-verify record`: runs a program and writes launch files of its kernels.
#pragma once

namespace glove::verify {

// record -o DIR -- PROGRAM [ARGUMENTS]: becomes the program. Returns an exit status, with a message on
// stderr, if it cannot.
int record(int argc, char** argv);

}  // namespace glove::verify
