// C++ names, scopes, inlining and members for the symbolizer's tests.
#include <atomic>
#include <string>
#include <vector>

#define SPOT(name) __asm__ volatile(".globl spot_" #name "\nspot_" #name ":" ::: "memory")

namespace shop {

struct Point { int x; int y; };

struct Base { long id; };

class Item : public Base {
public:
    void rename(const std::string &to);
    static int made;
    Point at;
    Point corners[2][3];
    std::atomic<int> uses;
    unsigned low : 4;
    unsigned high : 4;
};

int Item::made;
Item item;
static thread_local int mine;

namespace {
int hidden = 3;
}

// Stands for a hook: its return address is the label after the call.
__attribute__((noinline)) void touch(int *place, int value)
{
    *place = value;
}

__attribute__((always_inline)) inline void inner(int value)
{
    touch(&item.at.y, value);
    SPOT(inner);
}

__attribute__((always_inline)) inline void middle(int value)
{
    inner(value + 1);
}

__attribute__((noinline)) void Item::rename(const std::string &to)
{
    static int calls = 0;
    calls++;
    hidden += mine;
    middle(static_cast<int>(to.size()));
    SPOT(rename);
}

template <typename T> __attribute__((noinline)) T twice(std::vector<T> &list, T value)
{
    list.push_back(value);
    list.push_back(value);
    SPOT(twice);
    return value;
}

} // namespace shop

int (*anchor)(std::vector<int> &, int) = shop::twice<int>;

int main()
{
    std::vector<int> list;
    shop::twice<int>(list, 3);
    auto lambda = [&list](int by) {
        list[0] += by;
        SPOT(lambda);
    };
    lambda(2);
    shop::item.rename("soap");
    return 0;
}
