#include "cache/fleet/knowledge.hpp"

#include <algorithm>
#include <utility>

#include "algo/addressed_report.hpp"
#include "algo/list_follower.hpp"
#include "cache/fleet/rules.hpp"

namespace herdlock::runtime {
namespace {

class own_sums final : public fleet_knowledge {
 public:
  own_sums(fleet_settings const& settings, std::uint64_t process)
      : topic_(hot_keys_topic(settings.prefix)), process_(process), fleet_(settings.thresholds) {}

  std::string topic() const override { return topic_; }
  store_report addressed(algo::fleet_report const& report) const override {
    return {topic_, std::to_string(report.process), report.number, algo::encode(report)};
  }
  algo::fleet_view view() const override { return {fleet_.least_to_name(), fleet_.processes()}; }
  void said(algo::fleet_report report, clock::time_point now) override {
    fleet_.hear(std::move(report), now);
  }
  std::optional<hearing> hear(std::string_view text, clock::time_point now) override {
    auto report = algo::decode_report(text);
    if (!report) return hearing::refused;
    if (report->process == process_) return std::nullopt;  // taken when it was sent
    return fleet_.hear(*std::move(report), now);
  }
  std::vector<algo::fleet_change> advance(clock::time_point now) override {
    return fleet_.advance(now);
  }
  // By the square of the processes: each brings work.
  clock::duration pause() const override {
    auto const square = fleet_.processes() * fleet_.processes();
    return std::min<clock::duration>(pause_of_sums * square, longest_pause_of_sums);
  }
  store_collector::trouble take_part(clock::time_point) override { return {}; }
  void unsaid() override {}
  void leave() override {}

  std::vector<algo::fleet_sum> top(std::size_t most) const override { return fleet_.top(most); }
  std::size_t processes() const override { return fleet_.processes(); }
  std::size_t hot() const override { return fleet_.hot(); }

 private:
  static constexpr std::chrono::microseconds pause_of_sums{10};
  static constexpr milliseconds longest_pause_of_sums{1000};

  std::string const topic_;
  std::uint64_t const process_;
  algo::hot_fleet fleet_;
};

class collected_lists final : public fleet_knowledge {
 public:
  collected_lists(std::shared_ptr<store_core> home, fleet_settings const& settings)
      : home_(std::move(home)),
        prefix_(settings.prefix),
        thresholds_(settings.thresholds),
        context_(settings.context),
        options_(algo::number_of(thresholds_)) {}

  std::string topic() const override { return algo::hot_list_topic(prefix_); }
  store_report addressed(algo::fleet_report const& report) const override {
    return {std::string(algo::hot_reports_topic), std::to_string(report.process), report.number,
            algo::encode(algo::addressed_report{prefix_, thresholds_, report})};
  }
  algo::fleet_view view() const override {
    auto const processes = lists_.list().processes;
    return {algo::hot_fleet::least_to_name(thresholds_, processes), processes, &lists_};
  }
  void said(algo::fleet_report report, clock::time_point now) override {
    said_ = now;
    if (collector_) collector_->reported(prefix_, report.process, now);
  }
  void unsaid() override {
    if (collector_) collector_->report_failed();
  }
  std::optional<hearing> hear(std::string_view text, clock::time_point now) override {
    auto list = algo::decode_fleet_list(text);
    if (!list) return hearing::refused;
    auto taken = lists_.take(*std::move(list), now);
    changes_.insert(changes_.end(), taken.changes.begin(), taken.changes.end());
    bool const is_news = taken.how == hearing::news;
    if (is_news && collector_) collector_->follows(prefix_, lists_.list());
    return taken.how;
  }
  std::vector<algo::fleet_change> advance(clock::time_point now) override {
    auto all = std::exchange(changes_, {});
    for (auto& one : lists_.advance(now)) all.push_back(std::move(one));
    return all;
  }
  clock::duration pause() const override { return clock::duration(0); }
  store_collector::trouble take_part(clock::time_point now) override {
    if (!collector_) {
      collector_ = store_collector::of(home_, context_);
      collector_->follows(prefix_, lists_.list());
    }
    collector_->stand(prefix_, processes_that_may_stand(now), now);
    auto found = collector_->take_trouble(prefix_);
    if (now - without_since_ >= patience) {
      warn(missing_, found,
           "nobody collects what caches report of hot keys, so each goes by its own counts: no "
           "process may be elected, hear the reports and publish lists");
    }
    auto const judged_by = lists_.list().options;
    bool const is_other = judged_by != 0 && judged_by != options_;
    if (!is_other || !others_since_) others_since_ = now;
    if (now - *others_since_ >= patience_with_others) {
      warn(others_, found,
           "most processes of the prefix " + in_quotes(prefix_) +
               " have other options of hot keys than this one, and theirs count for all");
    }
    return found;
  }
  void leave() override {
    if (auto const here = std::exchange(collector_, nullptr)) here->leaves(prefix_);
  }

  std::vector<algo::fleet_sum> top(std::size_t most) const override { return lists_.top(most); }
  std::size_t processes() const override { return lists_.list().processes; }
  std::size_t hot() const override { return lists_.hot(); }

 private:
  /// Longer than between two reports.
  static constexpr milliseconds speaks_for{12'000};
  /// Until the last list ends, and all stand.
  static constexpr milliseconds patience_of_most{5000};
  static constexpr milliseconds patience{30'000};
  /// The options of most processes are known by then.
  static constexpr milliseconds patience_with_others{5000};

  static void warn(bool& told, store_collector::trouble& into, std::string what) {
    if (!std::exchange(told, true)) into.warnings.push_back(std::move(what));
  }

  std::shared_ptr<store_core> const home_;
  std::string const prefix_;
  algo::fleet_thresholds const thresholds_;
  store_collector::context_ptr const context_;
  std::uint64_t const options_;
  // Nobody collects where nobody reports, so that says nothing.
  std::uint64_t processes_that_may_stand(clock::time_point now) {
    bool const has_one = lists_.has_collector(now);
    if (has_one || now - said_ >= speaks_for) without_since_ = now;
    if (has_one && lists_.list().processes != 0) listed_processes_ = lists_.list().processes;
    if (now - without_since_ >= patience_of_most) listed_processes_ = 0;
    return listed_processes_;
  }

  clock::time_point said_{};
  clock::time_point without_since_ = clock::now();  // a collector, though this process reports
  std::uint64_t listed_processes_ = 0;
  std::optional<clock::time_point> others_since_;  // have their options in the lists
  bool missing_ = false, others_ = false;          // warned of
  algo::list_follower lists_;
  std::vector<algo::fleet_change> changes_;  // of lists, not told yet
  std::shared_ptr<store_collector> collector_;
};

}  // namespace

std::unique_ptr<fleet_knowledge> make_fleet_knowledge(std::shared_ptr<store_core> const& home,
                                                      fleet_settings const& settings,
                                                      std::uint64_t process) {
  // Whose lease has no fencing token cannot number its lists.
  bool const elects = home->leases() && home->traits().fences;
  if (home->reports()->pushes() && elects) return std::make_unique<collected_lists>(home, settings);
  return std::make_unique<own_sums>(settings, process);
}

}  // namespace herdlock::runtime
