// What can be asked of every store: is a lock had there, and how far away is it?
#pragma once

#include <herdlock/examination.hpp>
#include <string>

namespace herdlock::cli {

/// Takes, looks at and gives back a resource that nobody else uses. Adds its checks. Throws
/// command_error (usage) for a URL that means nothing.
void probe_store(std::string const& url, examination& into);

}  // namespace herdlock::cli
