// MariaDB's modes for the list of all stores.
#pragma once

#include "fixture.hpp"

namespace herdlock_test {

void add_mysql_stores(std::vector<store_case>& stores);

}  // namespace herdlock_test
