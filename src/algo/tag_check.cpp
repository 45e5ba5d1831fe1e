#include "algo/tag_check.hpp"

#include <algorithm>

namespace herdlock::algo {

void tag_verdicts::add(tag_verdict one) noexcept {
  bool const asks = one == tag_verdict::ask;
  asks_ = asks_ || asks;
  if (!asks) worst_ = std::max(worst_, one);
}

tag_verdict tag_verdicts::all() const noexcept {
  return asks_ && worst_ != tag_verdict::gone ? tag_verdict::ask : worst_;
}

void tag_check::known_tag::is(std::optional<tag_record> const& now, clock::time_point known) {
  bool const same = found && now && found->now == now->now;
  since = same ? std::min(since, known) : known;
  found = now;
}

void tag_check::told(std::string_view tag, std::optional<tag_record> const& found,
                     clock::time_point sent, clock::time_point came) {
  known_tag& known = *make(tag);
  // A reply that comes late is no news.
  if (sent < known.sent) return;
  known.is(found, came);
  known.sent = sent;
}

void tag_check::made(std::string_view tag, tag_record const& record, clock::time_point sent) {
  known_tag& known = *make(tag);
  // An end of the tag from then on voids the claim under which the record is made.
  known.is(record, sent);
  known.sent = sent;
}

void tag_check::changed(std::string_view tag, clock::time_point now) { make(tag)->own.last = now; }

void tag_check::ended(std::string_view tag, clock::time_point now) { make(tag)->own = {now, now}; }

bool tag_check::have_ended(std::vector<entry_tag> const& tags, clock::time_point kept) const {
  return std::any_of(tags.begin(), tags.end(), [&](entry_tag const& one) {
    auto const at = known_.find(one.name);
    return (at == known_.end() ? forgotten_ : at->second.own).end >= kept;
  });
}

tag_verdict tag_check::judge(entry_tag const& one, clock::time_point came,
                             clock::time_point now) const {
  known_tag const* const known = find(one.name, came, now);
  if (!known) return tag_verdict::ask;
  bool const is_newer = known->sent >= came;
  auto const ended = [&](tag_verdict how) { return is_newer ? how : tag_verdict::ask; };
  if (!known->found || known->found->now.lives != one.made_in.lives) {
    return ended(tag_verdict::gone);
  }
  if (known->found->now.is_fresh != one.made_in.is_fresh) return ended(tag_verdict::stale);
  return known->found->made_stale ? tag_verdict::stale : tag_verdict::fresh;
}

tag_verdict tag_check::judge(std::vector<entry_tag> const& tags, clock::time_point came,
                             clock::time_point now) const {
  tag_verdicts said;
  for (auto const& one : tags) said.add(judge(one, came, now));
  return said.all();
}

tag_need tag_check::need(std::string_view tag, entry_span const& span,
                         clock::time_point now) const {
  known_tag const* const known = find(tag, span.asked, now);
  if (!known) return tag_need::read;
  auto const& found = known->found;
  bool const serves = found && !found->made_stale && found->ends >= span.ends;
  return serves ? tag_need::none : tag_need::write;
}

std::optional<tag_record> tag_check::record(std::string_view tag) const {
  auto const at = known_.find(tag);
  return at == known_.end() ? std::nullopt : at->second.found;
}

clock::time_point tag_check::known_since(std::string_view tag) const {
  auto const at = known_.find(tag);
  bool const is_there = at != known_.end() && at->second.found;
  return is_there ? at->second.since : clock::time_point::max();
}

tag_check::known_tag const* tag_check::find(std::string_view tag, clock::time_point since,
                                            clock::time_point now) const {
  auto const at = known_.find(tag);
  if (at == known_.end()) return nullptr;
  known_tag const& known = at->second;
  if (known.sent == clock::time_point::min() || known.sent < known.own.last) return nullptr;
  bool const counts =
      known.sent >= since || (known.sent >= asked_since_ && now - known.sent <= max_age_);
  return counts ? &known : nullptr;
}

// A read of a forgotten tag counts if it was sent after the last change of any forgotten tag.
tag_check::known_tag* tag_check::make(std::string_view tag) {
  auto const at = known_.find(tag);
  if (at != known_.end()) return &at->second;
  if (known_.size() >= most_tags_) {
    hand_.step(known_, [this](auto const& one) {
      own_changes const& gone = one.second.own;
      forgotten_ = {std::max(forgotten_.last, gone.last), std::max(forgotten_.end, gone.end)};
      return true;
    });
  }
  return &known_.try_emplace(std::string(tag), known_tag{.own = forgotten_}).first->second;
}

}  // namespace herdlock::algo
