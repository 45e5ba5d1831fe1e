// open_store() and its like in a program that links components, but not herdlock::herdlock: there
// is no list of all that was linked, so they know what every program has, and say what to do.
//
// Weak, and alone in its object: herdlock::herdlock, which stands in front of its components where
// they are linked, has the same functions with all components.
#include <herdlock/examination.hpp>
#include <herdlock/open.hpp>
#include <herdlock/store_opener.hpp>
#include <herdlock/survey.hpp>

#include <utility>

namespace herdlock {
inline namespace v0 {
namespace {

store_opener no_more_than_memory() { return {memory_schemes()}; }

template <class T>
result<T> with_way_out(result<T> made, char const* function) {
  if (made || !(made.error() == errc::not_built)) return made;
  auto why = made.error();
  why.message += std::string("; or link herdlock::herdlock, in front of its components, whose ") +
                 function + "() knows all of them without a store_opener";
  return why;
}

}  // namespace

[[gnu::weak]] result<store> try_open_store(std::string_view url, open_options options) {
  return with_way_out(no_more_than_memory().try_open(url, std::move(options)), "open_store");
}

[[gnu::weak]] store open_store(std::string_view url, open_options options) {
  return with_way_out(no_more_than_memory().try_open(url, std::move(options)), "open_store")
      .value();
}

[[gnu::weak]] result<examination> examine_store(std::string_view url) {
  return with_way_out(no_more_than_memory().examine(url), "examine_store");
}

[[gnu::weak]] result<survey> survey_store(std::string_view url, survey_request const& request) {
  return with_way_out(no_more_than_memory().survey(url, request), "survey_store");
}

}  // namespace v0
}  // namespace herdlock
