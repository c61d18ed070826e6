/// Asio's event loop by name, for headers that pass it on: what includes Asio itself takes seconds to
/// compile.
#pragma once

// NOLINTNEXTLINE(modernize-concat-nested-namespaces): named by Boost
namespace boost::asio {
class io_context;
}
