#include "cache/keys/tagging.hpp"

#include <algorithm>
#include <utility>

namespace herdlock::runtime {
namespace {

using names_of_tags = std::vector<std::string>;

std::vector<algo::entry_tag> tags_in(std::string_view extensions) {
  return algo::decode_tags(extensions).value_or(std::vector<algo::entry_tag>());
}

names_of_tags names_in(std::string_view extensions) {
  names_of_tags names;
  for (auto& one : tags_in(extensions)) names.push_back(std::move(one.name));
  return names;
}

bool has(names_of_tags const& names, std::string const& one) {
  return std::ranges::find(names, one) != names.end();
}

// The tags of these names.
std::string only(std::string_view extensions, names_of_tags const& names) {
  auto tags = tags_in(extensions);
  std::erase_if(tags, [&](algo::entry_tag const& one) { return !has(names, one.name); });
  return algo::encode_tags(tags);
}

// The tags that take one of the places of an entry.
std::size_t places(names_of_tags const& names) {
  auto const of_all = std::count(names.begin(), names.end(), algo::tag_of_all);
  return names.size() - static_cast<std::size_t>(of_all);
}

// The names that are not among the tags yet; or why they cannot be.
result<names_of_tags> new_names(cache_tags const& tags, names_of_tags names,
                                names_of_tags const& there) {
  std::erase_if(names, [&](std::string const& one) { return has(there, one); });
  for (auto const& one : names) {
    if (auto const record = tags.record_key(one); record.has_error()) return record.error();
  }
  if (places(names) + places(there) <= limits::max_tags) return names;
  return make_failure(errc::invalid_value, "the loader names " + std::to_string(names.size()) +
                                               " tags beside " + std::to_string(there.size()) +
                                               " others of the entry; at most " +
                                               std::to_string(limits::max_tags) + " are allowed");
}

}  // namespace

result<load_tags> key_tagging::of_load(cache_key const& key, load_purpose const& why) const {
  if (!of_.tags) return load_tags{};
  auto const names = of_.tags->names_of(key);
  if (names.has_error()) return names.error();
  load_tags tags{*names, *names};
  for (auto& one : names_in(why.replaced_tags)) {
    bool const has_room = places(tags.all) < limits::max_tags || one == algo::tag_of_all;
    if (has_room && !has(tags.all, one)) tags.all.push_back(std::move(one));
  }
  return tags;
}

void key_tagging::prepare(load_tags const& tags, algo::load_guard guard,
                          std::function<void(load_extensions)> done) {
  // Nothing is stored of what is loaded without the store.
  if (tags.all.empty() || guard == algo::load_guard::unguarded) return done(std::string());
  auto on_ready = [this, keep = of_.home->keep(), names = tags.of_key,
                   done = std::move(done)](result<std::string> const& extensions) {
    if (extensions.has_value()) return done(only(*extensions, names));
    of_.home->trouble.tell(extensions.error());
    done(std::nullopt);
  };
  of_.tags->prepare(tags.all, std::move(on_ready));
}

void key_tagging::add(named_tags what, std::function<void()> const& void_load,
                      std::function<void(result<load_extensions>)> done) {
  of_.tags->named_by_loader();
  auto const there = names_in(what.prepared.value_or(std::string()));
  auto names = new_names(*of_.tags, std::move(what.names), there);
  if (names.has_error()) return done(names.error());
  std::vector<algo::entry_tag> named;
  for (auto const& one : *names) named.push_back({one, {}});
  // Callers that have come since such an end are to have nothing of this load.
  auto heed_ends = [this, void_load, named = std::move(named), began = what.load_began] {
    if (of_.tags->known().have_ended(named, began)) void_load();
  };
  if (names->empty() || !what.is_stored || !what.prepared) {
    heed_ends();
    return done(what.prepared);
  }
  auto on_ready = [this, keep = of_.home->keep(), heed_ends = std::move(heed_ends), names = *names,
                   began = what.load_began, prepared = *std::move(what.prepared),
                   done = std::move(done)](result<std::string> const& said) {
    heed_ends();
    if (said.has_error()) {
      of_.home->trouble.tell(said.error());
      return done(load_extensions());
    }
    auto const& known = of_.tags->known();
    auto all = tags_in(*said);
    bool const were_known = std::ranges::all_of(
        names, [&](std::string const& one) { return known.known_since(one) <= began; });
    if (!were_known) return done(load_extensions());
    auto const before = tags_in(prepared);
    all.insert(all.end(), before.begin(), before.end());
    done(load_extensions(algo::encode_tags(all)));
  };
  of_.tags->prepare(*names, std::move(on_ready));
}

std::vector<std::string> take_named(detail::load_outcome& outcome, load_purpose& why) {
  auto names = std::exchange(outcome.decided.tags, {});
  if (outcome.decided.is_modified) return names;
  auto const kept = std::exchange(why.replaced_tags, {});
  for (auto& one : names_in(kept)) names.push_back(std::move(one));
  std::ranges::sort(names);
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

}  // namespace herdlock::runtime
