/// Which names the shared library exports: what programs call, and nothing else. Its sources are compiled
/// with hidden visibility, so a public class or function with a definition in the library has HOLDFAST_EXPORT
/// before its name.
#pragma once

/// Is exported by the shared library, with a class all its members and what exceptions are recognized by.
#define HOLDFAST_EXPORT [[gnu::visibility("default")]]

/// Stays inside, though it is a member of an exported class.
#define HOLDFAST_LOCAL [[gnu::visibility("hidden")]]
