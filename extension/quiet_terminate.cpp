// Takes the place of libstdc++'s handler of std::terminate(), which writes to stderr and brings a demangler
// of 50 KB. After it, std::terminate() ends the process by SIGABRT. Only in a library or program that
// contains libstdc++, and not in libglove.a.
#include <exception>

#if defined(__GLIBCXX__)
namespace __gnu_cxx {

void __verbose_terminate_handler() {}

}  // namespace __gnu_cxx
#endif
