// libstdc++ frees an exception by a jump at the end of a jump, so that ThreadSanitizer takes the last
// reference's owner for the one that frees. Here that has a frame, which tests/tsan-suppressions.txt names.
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)

#include <dlfcn.h>

extern "C" void __cxa_free_exception(void* thrown) noexcept {
  using function = void (*)(void*) noexcept;
  static auto const libstdcxx = reinterpret_cast<function>(dlsym(RTLD_NEXT, "__cxa_free_exception"));
  libstdcxx(thrown);
}

#endif
#endif
