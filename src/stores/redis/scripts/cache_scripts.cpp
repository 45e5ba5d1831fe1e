#include "stores/redis/scripts/cache_scripts.hpp"

#include "stores/redis/script_texts.hpp"

namespace herdlock::redis {

cache_script_set const& cache_scripts() {
  static cache_script_set const set{{lua::cache_claim, "4"},      {lua::cache_look, "2"},
                                    {lua::cache_extend, "2"},     {lua::cache_fill, "4"},
                                    {lua::cache_fail, "3"},       {lua::cache_put, "4"},
                                    {lua::cache_invalidate, "4"}, {lua::cache_expire, "4"}};
  return set;
}

}  // namespace herdlock::redis
