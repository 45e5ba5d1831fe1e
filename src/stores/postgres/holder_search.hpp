// Who holds a lock of a session, as the server tells it.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include <herdlock/backend.hpp>

#include "stores/postgres/command_connection.hpp"

namespace herdlock::postgres {

/// Nothing: nobody does.
using found_holder = result<std::optional<lease_info>>;

inline constexpr int most_looks = 50;

/// A session that has the lock and has not said yet for whom is looked at again, `looks` times in
/// all; then it counts as nobody, as its lock has not been granted to anybody yet.
void find_holder(std::shared_ptr<command_connection> const& by, resource const& name,
                 std::function<void(found_holder)> done, int looks = most_looks);

}  // namespace herdlock::postgres
