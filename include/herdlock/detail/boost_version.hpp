// In front of Asio's headers: an older release fails in the middle of them, with no word why.
#pragma once

#include <boost/version.hpp>

#if BOOST_VERSION < 108800
#error "herdlock needs the headers of Boost 1.88 or newer; put their folder in front, with -isystem"
#endif
