"""For the rule of the classes: what is counted how, and which counts are faults."""

SOURCE = """
namespace herdlock::sample {
class whole {
 public:
  whole();                                   // 1
  explicit whole(int);                       // 2
  ~whole();                                  // 3
  whole(whole const&) = delete;
  whole& operator=(whole&&) = default;
  void overloaded();                         // 4
  void overloaded(int);                      // 5
  template <class T> void of_any(T) {}       // 6
  static int shared();                       // 7
  operator int() const;                      // 8
  friend void told(whole&);                  // 9
  friend bool operator==(whole const&, whole const&) = default;
  friend struct other;

 private:
  struct inside { int one = 0; void not_counted(); };
  friend int takes_inside(inside&);          // 10
  template <class T> struct box {};
  friend int takes_more(box<inside>*);       // 11
  void hidden();                             // 12
  using alias = int;
  inside first_;                             // one
  int second_ = 0, third_ = 0;               // three
  static int shared_;
};
int takes_inside(whole::inside&) { return 0; }
int takes_more(whole::box<whole::inside>*) { return 0; }
int takes_whole(whole&);

template <class T> class generic {
 public:
  void one();
  void two() const;

 protected:
  T member_;
};
template <> class generic<int> { int member_; void alone(); };

struct aggregate { int one, two; void told(); };
class interface { public: virtual ~interface() = default; virtual void told() = 0; };
inline namespace v1 { class versioned { int member_; }; }
namespace { class local { int member_; }; }
}  // namespace herdlock::sample
"""

# class -> (functions, members)
COUNTED = {
    "sample::whole": (12, 3),
    "sample::generic": (2, 1),
    "sample::generic<int>": (1, 1),
    "sample::versioned": (0, 1),
    "sample::local": (0, 1),
}

# (what was found, the exceptions, whether it is in order)
VERDICTS = [
    ({"a": (30, 15)}, "", True),
    ({"a": (31, 1)}, "", False),
    ({"a": (1, 16)}, "", False),
    ({"a": (31, 1)}, "a 31 1", True),
    ({"a": (32, 1)}, "a 31 1", False),
    ({"a": (31, 2)}, "a 31 1", False),
    ({"a": (31, 16)}, "a 32 16", False),
    ({"a": (30, 15)}, "a 30 15", False),
    ({"a": (29, 15)}, "a 31 15", False),
    ({}, "a 31 15", False),
    ({"b": (31, 15)}, "a 31 15", False),
    ({"a": (31, 15), "b": (1, 20)}, "# why\n\na 31 15\nb 1 20", True),
    ({"a": (31, 15), "b": (1, 20)}, "b 1 20\na 31 15", False),
]
