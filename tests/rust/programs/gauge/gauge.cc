// A gauge in C++: the caller has to hold a lock.
namespace {
class Gauge {
public:
    long turn(long by) { return value += by; }

private:
    long value = 0;
};
Gauge gauge;
} // namespace

extern "C" long gauge_turn(long by) { return gauge.turn(by); }
