// What can be asked of every store: is a lock had there, and how far away is it?
#pragma once

#include <herdlock/examination.hpp>
#include <string>

namespace herdlock::cli {

/// Takes, renews by looking, and gives back a resource that nobody else uses. Adds its checks.
void probe_store(std::string const& url, examination& into);

}  // namespace herdlock::cli
