#include "stores/memory/examination.hpp"

namespace herdlock {

result<examination> examine_memory(store_url) {
  examination made;
  made.find({"memory.scope", severity::warning, "memory: lives in this process",
             "it excludes nobody in another process or on another machine",
             "use sqlite:PATH for the processes of one machine, a server for several machines"});
  return made;
}

}  // namespace herdlock
