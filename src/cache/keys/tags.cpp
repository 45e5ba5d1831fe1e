#include "cache/keys/tags.hpp"

#include <algorithm>

#include "cache/keys/frame.hpp"
#include "cache/keys/tag_write.hpp"
#include "cache/keys/trouble.hpp"
#include "cache/near/near_tags.hpp"

namespace herdlock::runtime {
namespace {

// Reads that this process' own changes make worthless, for one entry. After that it is a miss.
constexpr int most_rounds = 4;

// How long an entry can be there.
milliseconds life_of(cache_options const& options) {
  auto const longest = std::max(options.ttl, options.negative_ttl);
  double const varied = double(longest.count()) * (1 + options.ttl_jitter);
  auto const life = milliseconds(static_cast<std::int64_t>(varied) + 1) + options.freshness.grace;
  return std::min(life, limits::max_ttl / 2);
}

// As when the entry itself could not be read: no judgement is possible, and the store is to be left
// alone. Anything else is the tag's own trouble.
bool is_of_the_store(failure const& why) {
  return (is_store_trouble(why) && !is_of_one_key(why)) || why == errc::canceled;
}

}  // namespace

struct cache_tags::judgement {
  cache_value stored;
  std::vector<algo::entry_tag> tags;
  bool keeps_stale;
  entry_future future;
  std::atomic<std::uint64_t>& ended;
  clock::time_point came;
  then<judged_value> done;
  int rounds = 0;
  std::size_t reads = 0;
  std::optional<failure> trouble = std::nullopt;

  void end(algo::tag_verdict verdict) {
    // An entry without a grace is gone: expire would remove it.
    if (verdict == algo::tag_verdict::stale && !keeps_stale) verdict = algo::tag_verdict::gone;
    if (verdict != algo::tag_verdict::fresh) mark_stale(stored);
    // An entry that could not be judged is not counted: nobody knows whether a tag ended it.
    if (verdict != algo::tag_verdict::fresh && !trouble) cache_counters::add(ended);
    done(judged_value{std::move(stored), verdict});
  }
};

struct cache_tags::preparation {
  std::vector<algo::entry_tag> tags;
  then<std::string> done;
  std::size_t left;
  failure why = {};
};

cache_tags::cache_tags(home_ptr home, algo::store_clock const& clock_of_store, local_parts local)
    : home_(std::move(home)),
      clock_(clock_of_store),
      local_(std::move(local)),
      known_(home_->options.tags.max_age),
      entry_life_(life_of(home_->options)),
      record_ttl_(2 * entry_life_) {}

result<std::vector<std::string>> cache_tags::names_of(cache_key const& key) const {
  auto const& options = home_->options;
  std::vector<std::string> names;
  try {
    if (options.tags.of)
      names = options.tags.of(std::string_view(key.str()).substr(options.prefix.size()));
  } catch (...) {
    return make_failure(errc::invalid_value, "cache option tags, called for " + key.str() + ": " +
                                                 detail::exception_text(std::current_exception()));
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  if (names.size() > limits::max_tags) {
    return make_failure(errc::invalid_value, "cache option tags names " +
                                                 std::to_string(names.size()) + " tags for " +
                                                 key.str() + "; at most " +
                                                 std::to_string(limits::max_tags) + " are allowed");
  }
  for (auto const& one : names) {
    auto const record = users_record_key(options.prefix, one);
    if (record.has_error()) return record.error();
  }
  if (options.tags.clearable) names.emplace(names.begin(), algo::tag_of_all);
  return names;
}

bool cache_tags::may_have(cache_key const& key, std::string const& tag) const {
  if (are_named_by_loaders_ || tag == algo::tag_of_all) return true;
  auto const names = names_of(key);
  return names.has_error() || std::ranges::find(*names, tag) != names->end();
}

result<cache_key> cache_tags::record_key(std::string_view tag) const {
  auto const& prefix = home_->options.prefix;
  return tag == algo::tag_of_all ? record_key_of_all(prefix) : users_record_key(prefix, tag);
}

result<cache_key> record_key_of_all(std::string_view prefix) {
  return cache_key::parse(std::string(prefix) + std::string(tag_record_prefix));
}

result<cache_key> users_record_key(std::string_view prefix, std::string_view tag) {
  failure why;
  // Behind the name of a tag's record begins what belongs to another tag's.
  bool const is_side = tag.find(":herdlock:") != tag.npos;
  if (auto const own = cache_key::parse(tag); own.has_error()) {
    why = own.error();
  } else if (is_side) {
    why = make_failure(errc::invalid_name, "it must not contain \":herdlock:\"");
  } else {
    auto full =
        cache_key::parse(std::string(prefix) + std::string(tag_record_prefix) + std::string(tag));
    if (full.has_value()) return full;
    why = full.error();
  }
  return make_failure(errc::invalid_name, "the tag " + in_quotes(tag) + ": " + why.message);
}

std::optional<algo::tag_record> cache_tags::record_of(cache_value const& stored) const {
  auto taken = without_header(stored);
  auto* const entry = std::get_if<framed_value>(&taken);
  auto const* const value = entry ? std::get_if<std::string>(&entry->value) : nullptr;
  auto const numbers = value ? algo::decode_generations(*value) : std::nullopt;
  if (!numbers) return std::nullopt;
  bool const made_stale = entry->header.state == algo::header_state::expired;
  return algo::tag_record{*numbers, made_stale, algo::times_of(entry->header, clock_).ends};
}

cache_value cache_tags::encode(algo::tag_generations const& now) const {
  algo::entry_header header;
  header.ttl = record_ttl_;
  if (clock_.known()) header.created = clock_.there(clock::now());
  return with_header({std::move(header), algo::encode_generations(now)}, layout::string);
}

algo::entry_span cache_tags::span() const {
  auto const now = clock::now();
  return {now, now + entry_life_};
}

// ------------------------------------------------------------------------- entries that were read

bool cache_tags::concerns(cache_value const& stored) const noexcept {
  return home_->options.tags.clearable || has_extensions(stored);
}

void cache_tags::judge(cache_value stored, then<judged_value> done, entry_future future) {
  auto const header = concerns(stored) ? header_of(stored) : std::nullopt;
  auto tags = header ? algo::decode_tags(header->extensions) : std::nullopt;
  auto const is_of_all = [](algo::entry_tag const& one) { return one.name == algo::tag_of_all; };
  bool const lacks_one =
      tags && home_->options.tags.clearable && std::none_of(tags->begin(), tags->end(), is_of_all);
  if (lacks_one) {  // clear() could not have ended it
    mark_stale(stored);
    cache_counters::add(home_->counters.ended_by_tags);
    return done(judged_value{std::move(stored), algo::tag_verdict::gone});
  }
  // An entry that cannot be read is a miss when its header is taken off.
  if (!tags || tags->empty()) {
    return done(judged_value{std::move(stored), algo::tag_verdict::fresh});
  }
  auto const now = clock::now();
  bool const keeps_stale = header->grace != milliseconds{0};
  ask(std::make_shared<judgement>(judgement{std::move(stored), *std::move(tags), keeps_stale,
                                            future, home_->counters.ended_by_tags, now,
                                            std::move(done)}));
}

algo::tag_verdict cache_tags::verdict_of(algo::entry_tag const& one, judgement const& about,
                                         clock::time_point now) const {
  // A kept record may be older than tags.max_age: it counts for entries kept by the same rules.
  bool const is_kept = about.future == entry_future::is_kept;
  if (is_kept && agrees(*local_.near(), one, now)) return algo::tag_verdict::fresh;
  auto const verdict = known_.judge(one, about.came, now);
  // The tag is known, but a cache that keeps the entry has to be told when that changes.
  bool const is_to_be_tracked = is_kept && about.rounds == 0;
  bool const is_fresh = verdict == algo::tag_verdict::fresh;
  return is_fresh && is_to_be_tracked ? algo::tag_verdict::ask : verdict;
}

void cache_tags::ask(std::shared_ptr<judgement> const& about) {
  auto const now = clock::now();
  algo::tag_verdicts said;
  std::vector<std::string> asked;
  for (auto const& one : about->tags) {
    auto const verdict = verdict_of(one, *about, now);
    said.add(verdict);
    if (verdict == algo::tag_verdict::ask) asked.push_back(one.name);
  }
  if (said.all() != algo::tag_verdict::ask) return about->end(said.all());
  if (about->rounds++ == most_rounds) return about->end(algo::tag_verdict::gone);
  // The records of all tags are read at once; the last reply may come inside of no call.
  about->reads = 1;
  auto const on_read = [this, keep = home_->keep(), about](failure const& why) {
    if (why.code) about->trouble = why;
    if (--about->reads > 0) return;
    if (!about->trouble) return ask(about);
    if (is_of_the_store(*about->trouble)) return about->done(*about->trouble);
    // Nobody can tell what the entry is worth; the others have no such trouble.
    home_->trouble.tell(*about->trouble);
    about->end(algo::tag_verdict::gone);
  };
  about->reads += asked.size();
  for (auto const& tag : asked) read(tag, about->future, on_read);
  on_read({});
}

void cache_tags::read(std::string const& tag, entry_future future,
                      std::function<void(failure const&)> done) {
  auto const key = record_key(tag);
  auto const& values = home_->store->values();
  if (key.has_error()) return done(key.error());
  if (!values) return done(home_->store->closed_failure());
  reads_.ask(tag, std::move(done),
             [&](auto const& question) { send_read(question, *key, future); });
}

void cache_tags::send_read(tag_questions::question_ptr const& about, cache_key const& key,
                           entry_future future) {
  auto on_reply = [this, keep = home_->keep(), about, key,
                   sent = clock::now()](result<near_read> const& reply) {
    if (reply.has_error()) return about->answer(reply.error());
    auto const found = reply->found ? record_of(*reply->found) : std::nullopt;
    known_.told(about->tag(), found, sent, clock::now());
    // A kept record with these generations is as good, and entries rest on it already.
    bool const is_news = found && reply->reading &&
                         !agrees(*local_.near(), {about->tag(), found->now}, clock::now());
    if (is_news) keep_record(*local_.near(), key, *reply->reading, *found);
    about->answer({});
  };
  auto& values = *home_->store->values();
  if (future == entry_future::is_kept) {
    return local_.read(values, key, layout::string, std::move(on_reply));
  }
  values.get(key, layout::string, [on_reply = std::move(on_reply)](result<cache_lookup> reply) {
    if (reply.has_error()) return on_reply(std::move(reply).error());
    on_reply(near_read{*std::move(reply), std::nullopt});
  });
}

// -------------------------------------------------------------------------------- before a load

void cache_tags::prepare(std::vector<std::string> const& names, then<std::string> done) {
  auto const about =
      std::make_shared<preparation>(preparation{{}, std::move(done), names.size() + 1});
  for (auto const& name : names) about->tags.push_back({name, {}});
  auto const on_ready = [about](failure const& why) {
    if (why.code) about->why = why;
    if (--about->left > 0) return;
    if (about->why.code) return about->done(about->why);
    about->done(algo::encode_tags(about->tags));
  };
  for (std::size_t i = 0; i < names.size(); ++i) {
    make_ready(names[i], [this, keep = home_->keep(), about, on_ready, i](failure const& why) {
      auto& one = about->tags[i];
      if (auto const record = known_.record(one.name)) one.made_in = record->now;
      on_ready(why);
    });
  }
  on_ready({});
}

void cache_tags::make_ready(std::string const& tag, std::function<void(failure const&)> done) {
  auto const asked = span();
  auto const need = known_.need(tag, asked, asked.asked);
  if (need == algo::tag_need::none) return done({});
  if (need == algo::tag_need::write) return write(tag, std::move(done));
  auto on_read = [this, keep = home_->keep(), tag, asked,
                  done = std::move(done)](failure const& why) {
    if (why.code) return done(why);
    if (known_.need(tag, asked, clock::now()) == algo::tag_need::none) return done({});
    write(tag, done);
  };
  read(tag, entry_future::is_used, std::move(on_read));
}

void cache_tags::write(std::string const& tag, std::function<void(failure const&)> done) {
  writes_.ask(tag, std::move(done), [&](auto const& question) {
    auto on_end = [keep = home_->keep(), question](failure const& why) { question->answer(why); };
    std::make_shared<tag_write>(home_, *this, tag, std::move(on_end))->run();
  });
}

// ------------------------------------------------------------------------------------ their ends

void cache_tags::end(cache_key const& record, detail::tag_ending how, handler<bool> done) {
  auto const& values = home_->store->values();
  if (!values) {
    return detail::post_result<bool>(home_->store->executor(), std::move(done),
                                     home_->store->closed_failure());
  }
  auto on_reply = [write = local_.write_apart(record),
                   done = std::move(done)](result<bool> reply) mutable {
    write = nullptr;
    std::move(done)(std::move(reply));
  };
  if (how == detail::tag_ending::invalidate) {
    return values->invalidate(record, std::move(on_reply));
  }
  // The record is kept as long as can be: without it the entries would be gone.
  values->expire(record, limits::max_ttl, std::move(on_reply));
}

void cache_tags::changed(std::string const& tag, detail::tag_ending how) {
  if (how == detail::tag_ending::invalidate) return known_.ended(tag, clock::now());
  known_.changed(tag, clock::now());
}

}  // namespace herdlock::runtime
