// The held leases of one store by their owner tokens: whom to tell when the store says that a lease
// has ended with its session, or that it has a new connection. And by their names: who waits for
// one of them may be waiting for himself.
#pragma once

#include <boost/intrusive/set.hpp>
#include <boost/intrusive/set_hook.hpp>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <herdlock/backend.hpp>

namespace herdlock::runtime {

struct roll_tag {};
using roll_hook =
    boost::intrusive::set_base_hook<boost::intrusive::tag<roll_tag>,
                                    boost::intrusive::link_mode<boost::intrusive::auto_unlink>>;
struct name_tag {};
using name_hook =
    boost::intrusive::set_base_hook<boost::intrusive::tag<name_tag>,
                                    boost::intrusive::link_mode<boost::intrusive::auto_unlink>>;

/// A lease that wants to be told. Intrusive: keeping one allocates nothing.
class enrolled : public roll_hook, public name_hook {
 public:
  std::thread::id taken_by{};  ///< whose blocking call took it

  virtual resource const& name() const = 0;
  virtual owner_token const& owner() const = 0;
  virtual milliseconds ttl() const = 0;
  virtual void on_session_end(lease_end const& what) = 0;
  /// The store has a new connection: the lease is renewed at `at`, if it is renewed at all. Calls
  /// nobody.
  virtual void renew_by(clock::time_point at) = 0;
  /// The store is being closed under the lease.
  virtual void on_closing() = 0;
  friend bool operator<(enrolled const& a, enrolled const& b) {
    return a.owner().str() < b.owner().str();
  }

 protected:
  enrolled() = default;
  enrolled(enrolled const&) = delete;
  enrolled& operator=(enrolled const&) = delete;
  virtual ~enrolled() = default;
};

/// All members on the executor. O(log n) per call, n being the leases held.
class lease_roll {
 public:
  /// The warnings that it may add to; null: none are kept.
  explicit lease_roll(std::shared_ptr<store_warnings> warnings = nullptr)
      : warnings_(std::move(warnings)) {}

  void enter(enrolled& one);
  static void leave(enrolled& one);
  /// A wait that blocks this thread begins: where a lease that the thread itself has taken from
  /// this store holds the resource, a warning says so, once for each of the first resources. No
  /// error: the lease may be another thread's by now, which gives it back.
  void wait_begins(resource const& name, std::thread::id by);
  /// To whoever has the lease; to nobody when it was given back meanwhile.
  void tell(lease_end const& what);
  /// All that are held are renewed at one time, so that they travel together: a part, `random` in
  /// [0, 1), of algo::new_connection_window() after `now`, so that the processes of a store do not.
  /// Again within a minute it is later, twice as long each time; what comes before it is done with
  /// it.
  void renew_all(clock::time_point now, double random);
  /// To all that are still held.
  void tell_closing();
  void close();

 private:
  struct by_name {
    bool operator()(enrolled const& a, enrolled const& b) const {
      return a.name().str() < b.name().str();
    }
    bool operator()(enrolled const& a, resource const& b) const { return a.name().str() < b.str(); }
    bool operator()(resource const& a, enrolled const& b) const { return a.str() < b.name().str(); }
  };

  void plan_renewal(clock::time_point now, double random);

  boost::intrusive::multiset<enrolled, boost::intrusive::base_hook<roll_hook>,
                             boost::intrusive::constant_time_size<false>>
      all_;
  boost::intrusive::multiset<enrolled, boost::intrusive::base_hook<name_hook>,
                             boost::intrusive::compare<by_name>,
                             boost::intrusive::constant_time_size<false>>
      by_name_;
  std::shared_ptr<store_warnings> const warnings_;
  std::vector<std::string> warned_of_;
  clock::time_point last_news_{};  // when the last one is renewed
  int repeats_ = 0;
};

}  // namespace herdlock::runtime
