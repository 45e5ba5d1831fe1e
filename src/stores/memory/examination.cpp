#include "stores/memory/examination.hpp"

#include "stores/memory/memory_store.hpp"

namespace herdlock {

result<examination> examine_memory(store_url url) {
  if (auto const why = url.reject_unknown_options(); why.code) return why;
  examination made;
  made.find({"memory.scope", severity::warning, "memory: lives in this process",
             "it excludes nobody in another process or on another machine",
             "use sqlite:PATH for the processes of one machine, a server for several machines"});
  return made;
}

}  // namespace herdlock
