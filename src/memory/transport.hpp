/// Connections to deployments in memory.
#pragma once

namespace holdfast::memory {

/// From now on clients of this process with a URL memory://NAME reach the node of that name.
void serve_urls() noexcept;

}  // namespace holdfast::memory
