#include "types/thread_name.hpp"

#include <sys/prctl.h>

void herdlock::detail::name_this_thread(char const* name) noexcept { ::prctl(PR_SET_NAME, name); }
