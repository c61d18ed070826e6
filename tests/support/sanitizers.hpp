/// Whether a sanitizer instruments this build, for tests whose expectations it changes. GCC defines a macro,
/// clang a feature.
#pragma once

#if defined(__has_feature)
#define HOLDFAST_TEST_FEATURE(x) __has_feature(x)
#else
#define HOLDFAST_TEST_FEATURE(x) 0
#endif

namespace holdfast::test {

#if defined(__SANITIZE_ADDRESS__) || HOLDFAST_TEST_FEATURE(address_sanitizer)
inline constexpr bool under_address_sanitizer = true;
#else
inline constexpr bool under_address_sanitizer = false;
#endif

#if defined(__SANITIZE_THREAD__) || HOLDFAST_TEST_FEATURE(thread_sanitizer)
inline constexpr bool under_thread_sanitizer = true;
#else
inline constexpr bool under_thread_sanitizer = false;
#endif

}  // namespace holdfast::test

#undef HOLDFAST_TEST_FEATURE
