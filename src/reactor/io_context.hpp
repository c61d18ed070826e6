/// A forward declaration of Asio's event loop, for headers that only pass it on: including Asio itself takes
/// seconds to compile.
#pragma once

// NOLINTNEXTLINE(modernize-concat-nested-namespaces): named by Boost
namespace boost::asio {
class io_context;
}
